"""``--write-baseline`` wrote nothing when one file of many could not be read, and said of a file
that had never been there that it was left as it was."""

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
    path = tmp_path / "guests"
    path.mkdir()
    for name in ("a", "b"):
        (path / f"{name}.xml").write_text(GUEST.format(name))
    return path


def entries(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())["fingerprints"]
    return found


def test_what_was_read_is_written_and_the_rest_is_said(folder: Path, tmp_path: Path) -> None:
    (folder / "broken.xml").write_text("<domain><name>c</name>")
    baseline = tmp_path / "known.json"
    result = inside("audit", folder, "--write-baseline", baseline)
    assert result.returncode == 4
    assert result.stderr == (
        f"{baseline}: written, but some targets could not be read and have no findings in "
        "it; write it again when all targets can be read\n"
    )
    assert sorted(str(entry["domain"]) for entry in entries(baseline).values()) == ["a", "b"]
    again = inside("audit", folder / "a.xml", folder / "b.xml", "--baseline", baseline)
    assert again.returncode == 0


def test_a_folder_that_is_not_mounted_forgets_nothing(folder: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "known.json"
    inside("audit", folder, "--write-baseline", baseline)
    before = entries(baseline)
    for file in folder.iterdir():
        file.unlink()
    inside("audit", folder, "--baseline", baseline, "--write-baseline", baseline)
    assert entries(baseline) == before


def test_what_is_known_of_an_unread_file_is_not_forgotten(folder: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "known.json"
    assert inside("audit", folder, "--write-baseline", baseline).returncode == 0
    before = entries(baseline)
    (folder / "b.xml").write_text("<domain>")
    (folder / "c.xml").write_text(GUEST.format("c"))
    result = inside("audit", folder, "--write-baseline", baseline)
    assert result.returncode == 4
    assert result.stderr == (
        f"{baseline}: written; 1 finding from before did not occur again but is kept: "
        "some targets could not be read\n"
    )
    after = entries(baseline)
    assert before.items() <= after.items()
    assert sorted(str(entry["domain"]) for entry in after.values()) == ["a", "b", "c"]


def test_a_report_as_the_file_before_is_kept_from_as_well(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    inside("audit", folder, "--format", "json", "--output", report)
    known = {finding["fingerprint"] for finding in json.loads(report.read_text())["findings"]}
    (folder / "b.xml").write_text("<domain>")
    inside("audit", folder, "--write-baseline", report)
    assert set(entries(report)) == known


def test_a_file_that_is_no_baseline_is_left_alone_where_it_may_be_needed(
    folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"schema": "something/1"}')
    (folder / "b.xml").write_text("<domain>")
    result = inside("audit", folder, "--write-baseline", other)
    assert result.returncode == 2
    assert other.read_text() == '{"schema": "something/1"}'


def test_a_complete_audit_still_forgets_what_is_gone(folder: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "known.json"
    inside("audit", folder, "--write-baseline", baseline)
    (folder / "b.xml").unlink()
    assert inside("audit", folder, "--write-baseline", baseline).returncode == 0
    assert [entry["domain"] for entry in entries(baseline).values()] == ["a"]
