"""``--strict``: what was not judged fails the run, but for what only a live host knows."""

from pathlib import Path

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'><name>a</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='br0'/><model type='virtio'/></interface>
</devices></domain>
"""
TEMPLATE = "[libvirt]\nvirt_type = {{ kind }}\nuse_virtio_for_bridges = false\n"
STRING = "cat > /etc/nova/$file <<EOT\n[libvirt]\nvirt_type = kvm\nEOT\n"
WORDS = "nova {\n  set use_virtio_for_bridges no\n}\n"


def _run(folder: Path, *options: str) -> tuple[int, str]:
    done = inside("audit", ".", "--level", "never", *options, cwd=folder)
    return done.returncode, done.stderr


def test_what_only_a_live_host_knows_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(GUEST)
    told = inside("audit", ".", "--strict", cwd=tmp_path)
    assert "VNIC020 was not judged for 1 NIC: needs the running QEMU" in told.stdout
    assert (told.returncode, told.stderr) == (0, "")
    assert _run(tmp_path, "--strict", "--format", "concise") == (0, "")


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        (TEMPLATE, "", "rules not judged: VNIC060 (1), VNIC066 (1), VNIC073 (1)"),
        (WORDS, ": b.conf:2", "1 part was not judged"),
        ("echo\n" + STRING, ": b.conf:3", "1 part was not judged"),
    ],
)
def test_what_was_not_judged_is_told_and_counts(
    tmp_path: Path, text: str, part: str, why: str
) -> None:
    (tmp_path / "a.xml").write_text(GUEST)
    (tmp_path / "b.conf").write_text(text)
    note = f"{why}{part}; --format text shows why\n"
    code = f"Exit code 1 (--strict): {why}\n"
    assert _run(tmp_path) == (0, "")
    assert _run(tmp_path, "--format", "concise") == (0, note)
    assert _run(tmp_path, "--format", "concise", "--quiet") == (0, "")
    assert _run(tmp_path, "--strict") == (1, code)
    assert _run(tmp_path, "--strict", "--format", "concise") == (1, note + code)
    assert _run(tmp_path, "--strict", "--quiet") == (1, code)
    (tmp_path / "vnicaudit.toml").write_text("strict = true\n")
    assert _run(tmp_path) == (1, code)


def test_a_file_that_cannot_be_read_is_worse(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(GUEST[:-20])
    (tmp_path / "b.conf").write_text(WORDS)
    assert _run(tmp_path, "--strict")[0] == 4
