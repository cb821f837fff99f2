"""A finding that was more severe than in the baseline was also counted as gone from it. A baseline
refreshed in place forgot the severities of the settings, so that the next audit failed. Copies of a
guest with several severities made a fresh baseline fail, and a report differ from itself."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'><name>{0}</name><uuid>00000000-0000-4000-8000-000000000001</uuid>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices>{1}<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='b'/>
<model type='rtl8139'/></interface></devices></domain>
"""
DISK = "<disk type='file'><source file='/a'/><target dev='vda' bus='virtio'/></disk>"
"""With it, the guest is known to support virtio: its finding is more severe."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(GUEST.format("a", ""))
    return tmp_path


def test_what_became_worse_is_not_gone(folder: Path) -> None:
    inside("audit", "a.xml", "--write-baseline", "known.json")
    (folder / "a.xml").write_text(GUEST.format("a", DISK))
    result = inside("audit", "a.xml", "--baseline", "known.json")
    assert result.returncode == 1
    assert "of the baseline gone" not in result.stdout


def test_a_baseline_refreshed_in_place_keeps_the_severities_of_the_settings(folder: Path) -> None:
    (folder / "vnicaudit.toml").write_text("[rules.VNIC001]\nseverity = 'high'\n")
    inside("audit", "a.xml", "--write-baseline", "known.json")
    before = json.loads((folder / "known.json").read_text())["fingerprints"]
    assert [one["severity"] for one in before.values()] == ["high"]
    inside("audit", "a.xml", "--baseline", "known.json", "--write-baseline", "known.json")
    assert json.loads((folder / "known.json").read_text())["fingerprints"] == before
    assert inside("audit", "a.xml", "--baseline", "known.json").returncode == 0


@pytest.mark.parametrize("mild", ["a", "b", "c"])
def test_copies_of_a_guest_with_several_severities(folder: Path, mild: str) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.xml").write_text(GUEST.format(name, "" if name == mild else DISK))
    inside("audit", ".", "-o", "report.json", "--write-baseline", "known.json")
    report = json.loads((folder / "report.json").read_text())
    same = [one["severity"] for one in report["findings"] if one["rule"] == "VNIC001"]
    assert sorted(same) == ["high", "high", "low"]
    assert len({one["fingerprint"] for one in report["findings"] if one["rule"] == "VNIC001"}) == 1
    assert inside("diff", "report.json", "report.json").returncode == 0
    for known in ("known.json", "report.json"):
        assert inside("audit", ".", "--baseline", known).returncode == 0


def test_a_baseline_that_carries_on_keeps_to_the_level_of_the_settings(folder: Path) -> None:
    """Severities below it are not told, and neither is the first time, without the file."""
    words = ("audit", ".", "--baseline", "known.json", "--write-baseline", "known.json", "-q")
    (folder / "vnicaudit.toml").write_text("level = 'high'\n")
    assert inside(*words).stdout == ""
    (folder / "b.xml").write_text(GUEST.format("b", DISK).replace(":01", ":02"))
    result = inside(*words)
    assert "52:54:00:00:00:02" in result.stdout
    assert "52:54:00:00:00:01" not in result.stdout
    assert inside(*words, "--level", "medium").stdout == ""


@pytest.mark.usefixtures("folder")
def test_another_baseline_must_be_there() -> None:
    result = inside("audit", ".", "--baseline", "gone.json", "--write-baseline", "known.json")
    assert result.returncode == 2
    assert "gone.json" in result.stderr
