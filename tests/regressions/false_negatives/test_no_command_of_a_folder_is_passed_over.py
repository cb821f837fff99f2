"""In a folder, a script, a unit or a batch file with a QEMU command was skipped without a word,
unless the command was its first line."""

from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.reports.formats import FORMATS

NICS = "-nodefaults -netdev user,id=a -device rtl8139,netdev=a"
QEMU = f"qemu-system-x86_64 {NICS}"
CONTINUED, BATCH = QEMU.replace(" -", " \\\n  -"), QEMU.replace(" -", " ^\n  -")
DOMAIN = """<domain type='kvm'><name>a</name>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
</devices></domain>
"""
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


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_a_report_of_our_own_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.xml").write_text(DOMAIN)
    inside("audit", "other.xml", "--format", name, "-o", "report", cwd=tmp_path)
    said = _audited(tmp_path)
    assert "1 problem in " in said
    assert "passed over" not in said
    named = inside("audit", "report", cwd=tmp_path)
    assert named.returncode == 4
    assert "a report, a plan or a baseline of vnicaudit: give what it is about" in " ".join(
        named.stdout.split()
    )


def test_nor_is_a_plan_a_baseline_or_a_list(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(DOMAIN)
    inside("plan", "other.xml", "-o", "plan.json", "--include-unsafe", cwd=tmp_path)
    inside("audit", "other.xml", "--write-baseline", "known.json", cwd=tmp_path)
    for form in ("json", "csv"):
        listed = inside("nics", "other.xml", "--format", form, cwd=tmp_path).stdout
        (tmp_path / f"nics.{form}").write_text(listed)
    assert len(list(tmp_path.iterdir())) == 5
    assert "passed over" not in _audited(tmp_path)


def test_a_manifest_of_a_guest_called_vnicaudit_is_none(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(DOMAIN.replace(">a<", ">vnicaudit<"))
    assert "problem in 1 guest (1 " in _audited(tmp_path)


def test_equal_notes_are_one_line(tmp_path: Path) -> None:
    text = "sudo tee elsewhere.conf <<EOT\n[libvirt]\nvirt_type = kvm\nEOT\n"
    (tmp_path / "a.sh").write_text(text * 2)
    (tmp_path / "b.sh").write_text(text)
    assert (
        "Not judged 2 files (a.sh:2, b.sh:2) hold a nova.conf inside a string: not judged, "
        "save it as a file of its own Nothing was judged"
    ) in _audited(tmp_path)
    (tmp_path / "b.sh").unlink()
    assert "a.sh:2 and 1 more time in this file: holds a nova.conf" in _audited(tmp_path)
    each = _audited(tmp_path, "-v")
    assert "a.sh:2: holds" in each
    assert "a.sh:6: holds" in each
