"""Old runs are removed, and what says that something is undone stays as long as it is needed."""

import os
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from vnicaudit.cli.main import run
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.pruning import old_runs, remove_leftovers, remove_runs

LATER = datetime.now(timezone.utc) + timedelta(days=1)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    """A run, and the one that undid it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(E1000)
    assert run(["plan", "a.xml", "-o", "plan.json", "-q"]) == 0
    assert run(["apply", "plan.json", "--yes", "-q", "--state", "state"]) == 0
    folder = StateFolder("state")
    assert run(["rollback", folder.ids()[0], "--yes", "-q", "--state", "state"]) == 0
    return folder


def test_what_ended_before_is_removed(state: StateFolder) -> None:
    assert old_runs(state, LATER - timedelta(days=2)) == []
    found = old_runs(state, LATER)
    assert [one.request.id for one in found] == state.ids()
    remove_runs(found)
    assert state.ids() == []
    assert os.listdir("state/runs") == []


@pytest.mark.parametrize("cut", range(4))
def test_what_hangs_together_with_an_unfinished_or_damaged_run_stays(
    state: StateFolder, cut: int
) -> None:
    """A run, its rollback, the rollback of that: whichever is cut short. Another run goes."""
    assert run(["rollback", state.ids()[1], "--yes", "-q", "--state", "state"]) == 0
    Path("b.xml").write_text(E1000)
    assert run(["plan", "b.xml", "-o", "other.json", "-q"]) == 0
    assert run(["apply", "other.json", "--yes", "-q", "--state", "state"]) == 0
    journal = state.path / "runs" / state.ids()[cut] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    going = state.ids()[:3] if cut == 3 else state.ids()[3:]
    assert [one.request.id for one in old_runs(state, LATER)] == going


def test_the_rollback_of_a_run_that_cannot_be_read_stays(state: StateFolder) -> None:
    first, _back = state.ids()
    (state.path / "runs" / first / "run.json").write_text("{")
    (state.path / "runs" / first / "journal.jsonl").write_text("")
    shutil.rmtree(state.path / "runs" / first / "definitions")
    assert old_runs(state, LATER) == []


def test_a_removal_that_is_stopped_leaves_no_run_without_its_rollback(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, back = state.ids()

    def stopped(folder: Path) -> None:
        raise KeyboardInterrupt(folder)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stopped)
        with pytest.raises(KeyboardInterrupt):
            remove_runs(old_runs(state, LATER)[::-1])
    assert state.ids() == [back]
    assert sorted(os.listdir("state/runs")) == [f".removed-{first}", back]
    Path("state/runs/.removed-by-hand").mkdir()
    assert run(["runs", "--prune", "1h", "--state", "state"]) == 0
    assert sorted(os.listdir("state/runs")) == [".removed-by-hand", back]


def test_leftovers_of_a_folder_without_runs(tmp_path: Path) -> None:
    remove_leftovers(StateFolder(str(tmp_path / "none")))


def test_nothing_is_removed_unasked(state: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    kept = state.ids()
    assert run(["runs", "--prune", "1h", "--state", "state"]) == 0
    assert "No run ended more than 1h ago\n" in capsys.readouterr().out
    for words in (["--prune", "1x"], ["--prune", "1d", "--verify"], ["--prune", "1d", kept[0]]):
        assert run(["runs", *words, "--state", "state"]) == 2
    assert state.ids() == kept
