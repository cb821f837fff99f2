"""What an earlier version of the program noted is read, gone on with, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remedy.applying.old_runs import CASES, Life
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.past_run import damaged

KILLED = {name: case for name, case in CASES.items() if case.killed}


def life(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Life:
    """Ended where its case says, with the notes of the earlier version."""
    found = Life(CASES[name], folder, monkeypatch)
    found.go()
    found.put_old(name)
    return found


@pytest.mark.parametrize("name", CASES)
def test_it_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = life(name, tmp_path, monkeypatch)
    (run,) = runs(str(tmp_path))
    assert list(damaged(found.context.state)) == []
    assert [unit.kind for unit in run.steps] == [CASES[name].kind]
    assert run.outcome == ("unfinished" if name in KILLED else "done")


@pytest.mark.parametrize("name", CASES)
def test_it_is_taken_back(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = life(name, tmp_path, monkeypatch)
    found.stage.rollback(found.context)
    found.stage.clock.sleep(60)
    assert found.looks() == found.before
    assert not any(run.outcome in ("unfinished", "failed") for run in runs(str(tmp_path)))


@pytest.mark.parametrize("name", KILLED)
def test_it_is_gone_on_with(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = life(name, tmp_path, monkeypatch)
    found.stage.apply(found.steps, found.context)
    (run,) = runs(str(tmp_path))
    worse = CASES[name].driverless
    assert run.outcome == ("rolled-back" if worse else "done")
    found.stage.clock.sleep(60)
    assert (found.looks() == found.before) == worse


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("line", range(3))
def test_a_damaged_line_is_named(
    name: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = life(name, tmp_path, monkeypatch)
    (folder,) = found.runs.iterdir()
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    line = min(line, len(lines) - 1)
    lines[line] = lines[line].replace(b'"at":"1970', b'"at":"1971')
    path.write_bytes(b"".join(lines))
    (told,) = [one for one in damaged(found.context.state) if "checksum" in one]
    assert told == f"{path}:{line + 1}: damaged: its checksum does not match"


@pytest.mark.parametrize("name", CASES)
def test_its_sheet_is_not_needed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = life(name, tmp_path, monkeypatch)
    (folder,) = found.runs.iterdir()
    (folder / "run.json").unlink()
    found.stage.rollback(found.context)
    found.stage.clock.sleep(60)
    assert found.looks() == found.before


@pytest.mark.parametrize("name", ["domain-at-stopping", "server-finished", "file-at-replacing"])
def test_its_task_alone_takes_it_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the journal and the sheet nothing is left."""
    found = life(name, tmp_path, monkeypatch)
    (folder,) = found.runs.iterdir()
    (folder / "run.json").unlink()
    (folder / "journal.jsonl").write_bytes(b"")
    found.stage.rollback(found.context)
    found.stage.clock.sleep(60)
    assert found.looks() == found.before
