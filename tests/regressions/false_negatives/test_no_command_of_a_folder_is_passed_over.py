"""In a folder, a script, a unit or a batch file with a QEMU command was skipped without a word,
unless the command was its first line."""

from pathlib import Path

from tests.cli.inside import inside

NICS = "-nodefaults -netdev user,id=a -device rtl8139,netdev=a"
QEMU = f"qemu-system-x86_64 {NICS}"
CONTINUED, BATCH = QEMU.replace(" -", " \\\n  -"), QEMU.replace(" -", " ^\n  -")
XML = "<domain type='kvm'><name>a</name></domain>"


def _audited(folder: Path, *options: str) -> str:
    return " ".join(inside("audit", ".", *options, cwd=folder).stdout.split())


def test_files_that_are_passed_over_are_counted(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(XML)
    assert "passed over" not in _audited(tmp_path)
    (tmp_path / "notes.txt").write_text("call Ann\n")
    assert "1 file passed over: nothing in it is recognised No" in _audited(tmp_path)
    (tmp_path / "README.md").write_text(f"# Guests\n\nRun it:\n\n```\n{QEMU}\n```\n")
    (tmp_path / "start.py").write_text(f"import os\n# {QEMU}\nos.system('{QEMU}')\n")
    assert (
        "3 files passed over: nothing in them is recognised, but 2 of them name QEMU or NICs: "
        "README.md, start.py"
    ) in _audited(tmp_path)


def test_a_report_of_our_own_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(XML)
    for name in ("sarif", "json"):
        inside("audit", "other.xml", "--format", name, "-o", f"v.{name}", cwd=tmp_path)
    said = _audited(tmp_path)
    assert "2 files passed over: nothing in them is recognised No" in said
