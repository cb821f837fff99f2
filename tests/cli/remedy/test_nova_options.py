"""``--nova-config``: files that nova-compute reads together. ``--nova-release``: which Nova."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside as vnicaudit

OFF = "[libvirt]\nuse_virtio_for_bridges = false\n"
ON = "[libvirt]\nuse_virtio_for_bridges = true\n"


def report(folder: Path, *arguments: str) -> dict[str, Any]:
    result = vnicaudit("audit", *arguments, "--format", "json", cwd=folder)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def places(found: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(f["rule"], f["location"]["file"], f["location"]["line"]) for f in found["findings"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.conf").write_text(OFF)
    (tmp_path / "b.conf").write_text("# note\n" + ON)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/20.conf").write_text(OFF)
    (tmp_path / "d/10.conf").write_text(ON)
    (tmp_path / "d/.hidden.conf").write_text(ON)
    (tmp_path / "d/notes.txt").write_text("nonsense\n")
    return tmp_path


def test_a_later_file_overrides(folder: Path) -> None:
    found = report(folder, "--nova-config", "a.conf", "--nova-config", "b.conf")
    assert places(found) == []
    assert [target["target"] for target in found["targets"]] == ["a.conf b.conf"]


def test_the_order_is_the_one_given(folder: Path) -> None:
    found = report(folder, "--nova-config", "b.conf", "--nova-config", "a.conf")
    assert places(found) == [("VNIC060", "a.conf", 2)]
    (finding,) = found["findings"]
    assert [(p["file"], p["line"], p["column"]) for p in finding["related"]] == [("b.conf", 3, 26)]


def test_a_folder_is_read_by_name_and_where_it_stands(folder: Path) -> None:
    assert places(report(folder, "--nova-config", "d")) == [("VNIC060", "d/20.conf", 2)]
    after = report(folder, "--nova-config", "d", "--nova-config", "b.conf")
    assert places(after) == []


def test_a_file_given_twice_counts_where_it_comes_last(folder: Path) -> None:
    paths = ("--nova-config", "a.conf", "--nova-config", "b.conf", "--nova-config", "a.conf")
    assert places(report(folder, *paths)) == [("VNIC060", "a.conf", 2)]


def test_a_file_that_is_missing_leaves_the_others_open(folder: Path) -> None:
    result = vnicaudit("audit", "--nova-config", "a.conf", "--nova-config", "gone.conf", cwd=folder)
    assert result.returncode == 4
    assert "gone.conf: No such file or directory" in result.stdout
    assert "VNIC060 was not judged for 1 file" in result.stdout


def test_beside_targets(folder: Path) -> None:
    found = report(folder, "a.conf", "--nova-config", "a.conf", "--nova-config", "b.conf")
    assert places(found) == [("VNIC060", "a.conf", 2)]


def test_without_any_target() -> None:
    result = vnicaudit("audit")
    assert result.returncode == 2
    assert "Missing argument 'TARGET...', or -i INVENTORY." in result.stderr


@pytest.mark.parametrize("release", ["queens", "17", "17.0.13"])
def test_the_release_decides_what_is_there(folder: Path, release: str) -> None:
    (folder / "nova.conf").write_text("[libvirt]\nrx_queue_size = 1024\n")
    found = report(folder, "nova.conf", "--nova-release", release)
    assert [f["message"] for f in found["findings"]] == [
        "[libvirt] rx_queue_size is not in Queens (17.0): Nova does not read it; it came with Rocky"
    ]
    assert report(folder, "nova.conf")["findings"] == []


def test_a_release_that_is_not_known() -> None:
    result = vnicaudit("audit", "x", "--nova-release", "essex")
    assert result.returncode == 2
    assert (
        "unknown Nova release 'essex' (known: Juno (2014.2) to Hibiscus (34.0)); write "
        "it as Caracal, 29.0 or 2024.1"
    ) in result.stderr
