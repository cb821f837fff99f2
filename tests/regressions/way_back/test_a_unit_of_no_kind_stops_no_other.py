"""One unfinished run on units of a kind that nothing here changes (of a platform that is not
installed any more) stopped ``runs --recover`` and ``runs --verify`` for all others."""

import contextlib
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import TARGET, Killed, World, installed
from vnicaudit.cli.main import run
from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.events import (
    End,
    Result,
    RunRequest,
    Transaction,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import Journal
from vnicaudit.remedy.applying.journal.past_run import PastRun, begin_run, read_run
from vnicaudit.remedy.applying.journal.state import begun_with
from vnicaudit.remedy.applying.pruning import in_effect, recover

Capture = pytest.CaptureFixture[str]
ELSEWHERE = UnitRequest("else", "mail", TARGET, ("s",), (), "elsewhere", "mail")
TASK = Transaction("restart")
NOBODY = "unknown kind of unit 'elsewhere'"


def silent(name: str, text: str) -> None:
    """Tells nobody."""
    del name, text


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    found = installed(World(tmp_path, 2), monkeypatch)
    for machine in found.machines:
        machine.boot()
    return found


def begun_by(world: World, *units: UnitRequest, done: bool = False) -> PastRun:
    """A run in the middle of that unit, or (``done``) at its end."""
    sheet = RunRequest("", "apply", "2026-11-21T10:00:00.000Z", "sha256:0", "restart", units)
    found = begin_run(world.context().state, sheet)
    journal = Journal(found.folder)
    journal.write(begun_with(TASK), ELSEWHERE.key)
    if done:
        journal.write(Result("applied"), ELSEWHERE.key)
        journal.write(End())
    journal.close()
    again = read_run(found.folder)
    assert again is not None
    return again


def killed(world: World) -> None:
    """A run that was ended while its guest was off."""
    world.kill_when = ("behind line stopping", 1)
    with contextlib.suppress(Killed):
        apply(world.steps, b"plan", world.context("restart"), silent)
    world.kill_when = ("", 1)


def test_other_runs_are_brought_back(world: World) -> None:
    begun_by(world, ELSEWHERE)
    killed(world)
    other, mine = recover(world.context(), silent)
    assert isinstance(other.error, UsageError)
    assert (other.is_well, NOBODY in str(other.error)) == (False, True)
    assert (mine.is_well, mine.error) == (True, None)
    assert all(machine.active for machine in world.machines)


def test_other_units_of_the_run_are_brought_back(world: World) -> None:
    killed(world)
    (found,) = world.context().state.ids()
    before = read_run(world.context().state.run(found))
    assert before is not None
    mixed = begun_by(world, ELSEWHERE, *before.request.units)
    journal = Journal(mixed.folder)
    for unit in before.request.units:
        begin = before.begin(unit.key)
        if begin is not None:
            journal.write(begin, unit.key)
            for kind in ("before", "goal"):
                name = f"{unit.key}.{kind}.xml"
                folder = mixed.folder / "definitions"
                folder.mkdir(exist_ok=True)
                (folder / name).write_bytes((before.folder / "definitions" / name).read_bytes())
    journal.close()
    _, one = recover(world.context(), silent)
    assert isinstance(one.error, UsageError)
    assert "applied" in [unit.outcome for unit in one.units]


def test_the_exit_code_is_that_of_what_cannot_be_brought_back(
    world: World, capsys: Capture
) -> None:
    begun_by(world, ELSEWHERE)
    killed(world)
    assert run(["runs", "--recover", "--state", str(world.folder)], world.wiring) == 5
    assert NOBODY in capsys.readouterr().err
    assert [one.outcome for one in runs(str(world.folder))][1] == "unfinished"


def test_the_others_are_looked_at(world: World) -> None:
    found = begun_by(world, ELSEWHERE, done=True)
    (seen,) = in_effect(found, world.context())
    assert (seen.state, NOBODY in seen.detail) == ("unknown", True)
