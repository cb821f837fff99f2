"""Old runs are removed, and what says that something is undone stays as long as it is needed."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from vnicaudit.cli.main import run
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.pruning import old_runs, remove_runs

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
    assert sorted(one.request.id for one in found) == state.ids()
    remove_runs(found)
    assert state.ids() == []
    assert os.listdir("state/runs") == []


def test_unfinished_and_damaged_runs_stay_with_what_undid_them(state: StateFolder) -> None:
    first, _back = state.ids()
    journal = state.path / "runs" / first / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    assert old_runs(state, LATER) == []


def test_nothing_is_removed_unasked(state: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    kept = state.ids()
    assert run(["runs", "--prune", "1h", "--state", "state"]) == 0
    assert "No run ended more than 1h ago\n" in capsys.readouterr().out
    for words in (["--prune", "1x"], ["--prune", "1d", "--verify"], ["--prune", "1d", kept[0]]):
        assert run(["runs", *words, "--state", "state"]) == 2
    assert state.ids() == kept
