"""A run on files whose journal was emptied, and whose copies of lines were gone as well: rollback
said "taken back", exit code 0, with every file still changed."""

from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from vnicaudit.cli.main import run
from vnicaudit.remedy.applying.history import runs


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that a run has changed."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.xml"
    file.write_text(E1000)
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--state", "state"]) == 0
    return file


def lost(folder: Path, lines: int) -> None:
    """Of a run's journal so many lines are left, and no copy."""
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
    for copy in folder.glob("definitions/*.begin.json"):
        copy.unlink()


def test_they_are_told_as_lost_and_come_back_by_restore(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = file.read_text()
    (folder,) = (file.parent / "state/runs").iterdir()
    lost(folder, 0)
    capsys.readouterr()
    assert run(["rollback", folder.name, "--yes", "--state", "state"]) == 5
    told = capsys.readouterr()
    assert "Stopped: rolled back" not in told.out + told.err
    assert "the original is saved" in told.out + told.err
    assert file.read_text() == changed
    assert f"{folder.name}/journal.jsonl: it is empty" in runs("state")[0].damage[0]
    assert run(["rollback", folder.name, "--restore", "--yes", "--state", "state"]) == 0
    assert file.read_text() == E1000


def test_they_are_lost_where_the_journal_still_has_its_beginning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = file.read_text()
    (folder,) = (file.parent / "state/runs").iterdir()
    lost(folder, 1)
    capsys.readouterr()
    assert run(["rollback", folder.name, "--yes", "--state", "state"]) == 5
    told = capsys.readouterr()
    assert "the original is saved" in told.out + told.err
    assert file.read_text() == changed
    assert run(["rollback", folder.name, "--restore", "--yes", "--state", "state"]) == 0
    assert file.read_text() == E1000


def test_one_that_was_not_replaced_yet_is_not_lost(file: Path) -> None:
    """The program was ended before it had written a line: nothing was done."""
    (folder,) = (file.parent / "state/runs").iterdir()
    lost(folder, 1)
    file.write_text(E1000)
    assert run(["rollback", folder.name, "--yes", "--state", "state"]) == 0
    (one,) = runs("state")
    assert [unit.outcome for unit in one.steps] == ["not-reached"]
