"""``vnicaudit rollback`` on files, as a user runs it. What it does to guests: tests/rig."""

import json
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.definitions import E1000, VIRTIO, several
from tests.remedy.planning.test_diffs import FORMS
from vnicaudit.cli.main import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with a definition and a state folder to be made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    (tmp_path / "a.xml").write_text(E1000)
    return tmp_path


def applied(target: str = "a.xml") -> str:
    """Plan and apply; the id of the run."""
    assert run(["plan", target, "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--quiet"]) == 0
    return newest()


def newest() -> str:
    """The id of the newest run."""
    return max(path.name for path in Path("state/runs").iterdir())


def rollback(run_id: str, *options: str) -> int:
    return run(["rollback", run_id, "--yes", "--quiet", *options])


def runs(capsys: Capture) -> list[dict[str, Any]]:
    """What ``vnicaudit runs`` knows, newest first."""
    capsys.readouterr()
    assert run(["runs", "--format", "json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return found


@pytest.mark.parametrize(
    "data",
    [*FORMS.values(), E1000.replace("\n", "\r\n").encode(), E1000.replace("\n", "").encode()],
    ids=[*FORMS, "crlf", "one line"],
)
def test_the_file_is_what_it_was(here: Path, data: bytes) -> None:
    path = here / "a.xml"
    path.write_bytes(data)
    path.chmod(0o604)
    run_id = applied()
    assert path.read_bytes() != data
    assert rollback(run_id) == 0
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_way_back_needs_no_settings_file(here: Path, capsys: Capture) -> None:
    run_id = applied()
    (here / "vnicaudit.toml").write_text("level = 3\n")
    assert run(["apply", "plan.json", "--yes", "--quiet"]) == 2
    assert "vnicaudit.toml" in capsys.readouterr().err
    assert run(["runs", "--verify", run_id]) == 0
    assert rollback(run_id) == 0
    assert (here / "a.xml").read_text() == E1000


def test_it_is_a_run_of_its_own(capsys: Capture) -> None:
    run_id = applied()
    rollback(run_id)
    back, there = runs(capsys)
    assert (there["id"], there["kind"], there["outcome"]) == (run_id, "apply", "done")
    assert (back["kind"], back["plan"], back["outcome"]) == ("rollback", run_id, "done")
    assert [step["outcome"] for step in back["steps"]] == ["applied"]


def test_again_is_already(here: Path, capsys: Capture) -> None:
    run_id = applied()
    rollback(run_id)
    assert rollback(run_id) == 0
    assert [step["outcome"] for step in runs(capsys)[0]["steps"]] == ["already"]
    assert (here / "a.xml").read_text() == E1000


def test_a_way_back_can_be_taken_back(here: Path) -> None:
    rollback(applied())
    assert rollback(newest()) == 0
    assert (here / "a.xml").read_text() == VIRTIO


def test_a_link_is_followed_and_stays(here: Path) -> None:
    (here / "link.xml").symlink_to("a.xml")
    run_id = applied("link.xml")
    assert rollback(run_id) == 0
    assert (here / "link.xml").is_symlink()
    assert (here / "a.xml").read_text() == E1000


def test_a_dry_run_changes_nothing_and_is_no_run(here: Path, capsys: Capture) -> None:
    run_id = applied()
    capsys.readouterr()
    assert rollback(run_id, "--dry-run") == 0
    assert capsys.readouterr().out == "a: would be undone\n"
    assert (here / "a.xml").read_text() == VIRTIO
    assert newest() == run_id


@pytest.mark.parametrize("more", [(), ("--restore",)])
def test_a_dry_run_for_programs(here: Path, capsys: Capture, more: tuple[str, ...]) -> None:
    run_id = applied()
    capsys.readouterr()
    assert rollback(run_id, "--dry-run", "--format", "json", *more) == 0
    told = json.loads(capsys.readouterr().out)
    (unit,) = told.pop("units")
    assert told == {
        "schema": "vnicaudit.dry-run/1", "kind": "rollback", "mode": "next-boot",
        "not_applied": [],
    }  # fmt: skip
    assert (unit["name"], unit["outcome"], unit["codes"]) == ("a", "would-change", [])
    assert (here / "a.xml").read_text() == VIRTIO


def test_nobody_is_there_to_be_asked(here: Path, capsys: Capture) -> None:
    run_id = applied()
    capsys.readouterr()
    assert run(["rollback", run_id]) == 2
    assert "--yes" in capsys.readouterr().err
    assert (here / "a.xml").read_text() == VIRTIO


def test_a_later_edit_is_nobodys_to_undo(here: Path, capsys: Capture) -> None:
    run_id = applied()
    edited = VIRTIO.replace("br0", "br1")
    (here / "a.xml").write_text(edited)
    assert rollback(run_id, "--dry-run") == 5
    assert rollback(run_id) == 5
    assert (
        "somebody has changed the file since: check it and correct it by hand"
        in capsys.readouterr().out
    )
    assert (here / "a.xml").read_text() == edited
    assert rollback(run_id, "--over-edits") == 5
    assert "--over-edits is not for files; somebody has changed" in capsys.readouterr().out
    command = runs(capsys)[0]["steps"][0]["message"].rpartition(": ")[2]
    assert run([*shlex.split(command)[1:], "--yes", "--quiet"]) == 0
    assert (here / "a.xml").read_text() == E1000


@pytest.mark.parametrize("more", [(), ("--restore",)])
def test_a_file_that_has_gone(here: Path, capsys: Capture, more: tuple[str, ...]) -> None:
    run_id = applied()
    (here / "a.xml").unlink()
    assert rollback(run_id, *more) == 5
    (step,) = runs(capsys)[0]["steps"]
    assert step["codes"] == ["unreadable"]
    command = step["message"].partition(" it had: ")[2]
    assert command.startswith("cp ")
    subprocess.run(shlex.split(command), check=True)
    assert (here / "a.xml").read_text() == E1000


def test_other_names_of_the_file_would_keep_the_new_text(here: Path, capsys: Capture) -> None:
    run_id = applied()
    (here / "b.xml").hardlink_to(here / "a.xml")
    assert rollback(run_id) == 5
    assert runs(capsys)[0]["outcome"] == "failed"
    assert (here / "a.xml").read_text() == VIRTIO


@pytest.mark.parametrize("name", ["nonsense", "../..", "", "20261121-101500-3f2a"])
def test_a_run_that_there_is_none_of(here: Path, capsys: Capture, name: str) -> None:
    applied()
    capsys.readouterr()
    assert rollback(name) == 2
    assert capsys.readouterr().err == (
        f"Error: there is no run {name!r} in {here}/state; `vnicaudit runs --state {here}/state` "
        "lists them\n"
    )


def test_one_domain_of_a_run(here: Path) -> None:
    paths = several(here / "w", 3)
    run_id = applied("w")
    assert rollback(run_id, "--domain", "g2") == 0
    assert ["virtio" in path.read_text() for path in paths] == [True, False, True]


def test_a_domain_that_is_not_in_it(here: Path, capsys: Capture) -> None:
    run_id = applied()
    capsys.readouterr()
    assert rollback(run_id, "--domain", "b") == 2
    assert capsys.readouterr().err == (
        f"Error: run {run_id} has no such domain 'b'; vnicaudit runs {run_id} --state "
        f"{here}/state\n"
    )
    assert (here / "a.xml").read_text() == VIRTIO


def test_what_was_not_done_is_not_taken_back(here: Path, capsys: Capture) -> None:
    (here / "b.xml").hardlink_to(here / "a.xml")
    run(["plan", "a.xml", "-o", "plan.json", "--quiet"])
    assert run(["apply", "plan.json", "--yes", "--quiet"]) == 5
    capsys.readouterr()
    assert rollback(newest()) == 2
    assert "there is nothing to undo" in capsys.readouterr().err


def test_the_newest_first(here: Path, capsys: Capture) -> None:
    several(here / "w", 3)
    run_id = applied("w")
    rollback(run_id)
    assert [step["name"] for step in runs(capsys)[0]["steps"]] == ["g3", "g2", "g1"]


def test_without_a_run_the_last_one_is_named(here: Path, capsys: Capture) -> None:
    run_id = applied()
    capsys.readouterr()
    assert run(["rollback", "--state", "state"]) == 2
    assert capsys.readouterr().err == (
        f"Error: which RUN? the last is {run_id}; `vnicaudit runs --state state` lists them\n"
    )
    assert here
