"""``audit a.xml a.xml ./`` counted a file twice, and an empty folder was "nothing to judge" without
a word of what was looked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'><name>{0}</name>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='rtl8139'/></interface></devices>
</domain>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.xml").write_text(GUEST.format("a"))
    (tmp_path / "sub" / "b.xml").write_text(GUEST.format("b"))
    return tmp_path


def report(folder: Path, *targets: str) -> dict[str, Any]:
    """The report on these targets."""
    result = inside("audit", *targets, "--format", "json", cwd=folder)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    "targets",
    [
        ("a.xml", "a.xml", "./"), ("./", "a.xml"), ("a.xml", "./a.xml", "sub", "."),
        (".", "sub"), ("sub", "."), (".", "sub/../a.xml", "sub/b.xml"),
    ],
)  # fmt: skip
def test_each_file_is_judged_once(folder: Path, targets: tuple[str, ...]) -> None:
    found = report(folder, *targets)
    assert sorted(finding["about"]["name"] for finding in found["findings"]) == ["a", "b"]
    assert (found["summary"]["domains"], found["summary"]["nics"]) == (2, 2)
    nics = json.loads(inside("nics", *targets, "--format", "json", cwd=folder).stdout)["nics"]
    assert sorted(nic["domain"] for nic in nics) == ["a", "b"]


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = inside("audit", empty)
    assert result.returncode == 0
    words = " ".join(result.stdout.split())
    assert f"{empty}: nothing in it is recognised; looked for: libvirt domain XML, nova.conf" in (
        words
    )
    assert "sosreports (folders, or archives called sosreport-*), sysinfo.tgz; any other" in words
    assert words.count(str(empty)) == 1
    assert "Nothing here defines a NIC" in words


def test_a_folder_with_nova_conf_alone_is_recognised_by_nics_too(tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text("[libvirt]\nvirt_type = kvm\nrx_queue_size = 512\n")
    result = inside("nics", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "No NICs\n", "")
