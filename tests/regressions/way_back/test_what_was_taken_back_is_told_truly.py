"""A way back that was taken back itself, or went NIC by NIC, or with a clock that was set back: of
its runs was said what was not so."""

from __future__ import annotations

from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, World
from vnicaudit.cli.main import run
from vnicaudit.errors import UsageError
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal import state
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.rollback import RollbackSelection

Capture = pytest.CaptureFixture[str]
VIRTIO = b"<model type='virtio'/>"


def oldest_first(world: World) -> list[RunRecord]:
    """All runs."""
    return runs(str(world.folder))[::-1]


def verified(world: World, run_id: str, capsys: Capture) -> tuple[int, str]:
    """What ``runs --verify`` ends with, and says."""
    capsys.readouterr()
    code = run(["runs", "--verify", run_id, "--state", str(world.folder)], world.wiring)
    return code, " ".join(capsys.readouterr().out.split())


def test_a_way_back_of_a_way_back_of_a_way_back(world: World, capsys: Capture) -> None:
    """The first run read "applied", and to be changed since, when all was as before it."""
    (machine,) = world.machines
    world.apply(world.steps, world.context())
    for number in range(1, 5):
        ids = [one.id for one in oldest_first(world)]
        world.rollback(world.context(), run=ids[-1])
        undone = [one.steps[0].undone_by for one in oldest_first(world)]
        ids.append(oldest_first(world)[-1].id)
        wanted = [ids[at + 1] if (number - at) % 2 else None for at in range(number)]
        assert undone == [*wanted, None]
        assert (VIRTIO in machine.persistent) == (undone[0] is None)
        code, said = verified(world, ids[0], capsys)
        assert (code, "taken-back" in said) == ((0, True) if undone[0] else (1, False))


def test_what_was_put_back_by_hand_is_taken_back(world: World, capsys: Capture) -> None:
    world.apply(world.steps, world.context())
    world.machines[0].persistent = world.before[0]
    (went,) = world.rollback(world.context())
    assert [unit.outcome for unit in went.run.steps] == ["already"]
    assert verified(world, oldest_first(world)[0].id, capsys)[0] == 0


def clock(monkeypatch: pytest.MonkeyPatch, year: int) -> None:
    """The time is another one."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Then:
            return cls(year, 1, 1, 23, 59, 59, 999_999, tzinfo=tz)

    monkeypatch.setattr(state, "datetime", Then)


def test_a_clock_that_is_set_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest run was listed as the oldest, and what it undid as applied."""
    clock(monkeypatch, 2026)
    world.apply(world.steps, world.context())
    made = [oldest_first(world)[0].id]
    for year in (2020, 2026, 2019):
        clock(monkeypatch, year)
        (went,) = world.rollback(world.context(), run=made[-1])
        made.append(went.run.id)
    assert [one.id for one in oldest_first(world)] == made
    assert [one.steps[0].undone_by for one in oldest_first(world)] == [made[1], None, made[3], None]


def test_ids_go_on_behind_the_last_of_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 2026)
    folder = StateFolder(str(tmp_path))
    assert [folder.new().name for _ in range(2)] == ["20260101-235959-ffff", "20260101-235960-0000"]
    assert folder.ids() == ["20260101-235959-ffff", "20260101-235960-0000"]


def test_a_run_that_goes_on_says_what_was_taken_back_of_it_meanwhile(
    make_world: MakeWorld,
) -> None:
    world = make_world(2)
    world.machines[0].boot()
    world.kill_when = "behind line begin", 2
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    world.rollback(world.context(), RollbackSelection(domains=("guest-1",)))
    back = oldest_first(world)[-1].id
    done = world.apply(world.steps, world.context())
    first, second = done.run.steps
    assert (first.outcome, first.undone_by, first.waiting) == ("applied", back, False)
    assert (second.outcome, second.undone_by) == ("applied", None)


def test_a_run_of_which_one_domain_was_taken_back_is_not_rolled_back(
    make_world: MakeWorld,
) -> None:
    """It was ended between two domains; of one that holds it was said that it does not."""
    world = make_world(3)
    world.kill_when = "behind line done", 2
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    world.rollback(world.context(), RollbackSelection(domains=("guest-1",)))
    (found, _back) = oldest_first(world)
    assert [unit.undone_by is None for unit in found.steps] == [False, True, True]
    assert found.outcome == "failed"
    world.rollback(world.context(), RollbackSelection(domains=("guest-2",)))
    assert [machine.persistent for machine in world.machines] == world.before


def test_a_misspelt_name_beside_a_good_one(make_world: MakeWorld) -> None:
    """It was passed over in silence, with exit code 0."""
    world = make_world(2)
    world.apply(world.steps, world.context())
    changed = [machine.persistent for machine in world.machines]
    with pytest.raises(UsageError, match="has no such domain 'guest-two'"):
        world.rollback(world.context(), RollbackSelection(domains=("guest-1", "guest-two")))
    assert [machine.persistent for machine in world.machines] == changed


def test_a_guest_that_runs_as_before_waits_for_nothing(world: World, capsys: Capture) -> None:
    """It was to be powered off and on, and had never been changed under it."""
    (machine,) = world.machines
    machine.boot()
    world.apply(world.steps, world.context())
    first = oldest_first(world)[0].id
    assert run(["rollback", first, "--yes", "--state", str(world.folder)], world.wiring) == 0
    said = capsys.readouterr()
    assert "Waiting" not in said.err
    assert "powered off" not in said.out
    assert [unit.waiting for unit in oldest_first(world)[-1].steps] == [False]


def test_a_guest_that_was_started_since_waits_for_the_way_back(world: World) -> None:
    (machine,) = world.machines
    world.apply(world.steps, world.context())
    machine.boot()
    (went,) = world.rollback(world.context())
    assert [unit.waiting for unit in went.run.steps] == [True]


def test_what_somebody_edited_in_the_middle_can_still_be_taken_back(world: World) -> None:
    """The run was carried on, found the edit and failed: then there was nothing to take back."""
    (machine,) = world.machines
    world.kill_when = "behind define", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    machine.persistent = machine.persistent.replace(b"262144", b"524288")
    (unit,) = world.apply(world.steps, world.context()).run.steps
    assert unit.outcome == "failed"
    assert "the change of this run is still in it (to undo only" in unit.message
    (went,) = world.rollback(world.context(), RollbackSelection(over_edits=True))
    assert [one.outcome for one in went.run.steps] == ["applied"]
    assert machine.persistent == world.before[0].replace(b"262144", b"524288")


def test_an_edit_that_took_the_change_out_leaves_nothing_to_take_back(world: World) -> None:
    (machine,) = world.machines
    world.kill_when = "behind define", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    machine.persistent = world.before[0].replace(b"262144", b"524288").replace(b"e1000", b"e1000e")
    (unit,) = world.apply(world.steps, world.context()).run.steps
    assert (unit.outcome, "is in it" in unit.message) == ("failed", False)
    with pytest.raises(UsageError, match="there is nothing to undo"):
        world.rollback(world.context(), RollbackSelection(over_edits=True))


def test_a_guest_that_was_only_restarted_stops_no_way_back(make_world: MakeWorld) -> None:
    """Its definition was put right by hand before: it failed as a canary, and left all others."""
    world = make_world(2)
    for machine in world.machines:
        machine.boot()
    machine = world.machines[1]
    machine.persistent = by_hand = machine.persistent.replace(b"'e1000'", b"'virtio'")
    world.apply(world.steps, world.context("restart"))
    (went,) = world.rollback(world.context("restart"))
    assert [unit.outcome for unit in went.run.steps] == ["refused", "applied"]
    assert "only restarted the guest with it" in went.run.steps[0].message
    assert [one.persistent for one in world.machines] == [world.before[0], by_hand]
    assert all(one.active for one in world.machines)
