"""Many units: in which order, when to stop, and going on with what was left in the middle."""

import os
from datetime import datetime
from typing import Any

import pytest

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, World
from vnicaudit.errors import JournalError, RefusedError, UsageError
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.unit_queue import Window


def outcomes(run: RunRecord) -> list[str]:
    """Of its units, in order."""
    return [unit.outcome for unit in run.steps]


def killed(world: World, context: RunContext, place: str, number: int = 1) -> None:
    """The program is ended when it passes that place for the ``number``-th time."""
    world.kill_when = place, number
    with pytest.raises(Killed):
        world.apply(world.steps, context)
    world.kill_when = "", 1


def at(world: World, clock: str) -> None:
    """It is that time of day."""
    world.clock.seconds = datetime.fromisoformat(f"2026-11-21T{clock}:00").timestamp()


def test_a_canary_that_fails_ends_the_run(make_world: MakeWorld) -> None:
    world = make_world(3)
    world.machines[0].refuses["define"] = "libvirt says no"
    done = world.apply(world.steps, world.context())
    assert done.stopped
    assert outcomes(done.run) == ["failed", "not-reached", "not-reached"]
    assert done.run.finished is not None
    assert [machine.persistent for machine in world.machines] == world.before


def test_what_is_refused_is_no_canary(make_world: MakeWorld) -> None:
    world = make_world(3)
    world.machines[0].managed_save = True
    done = world.apply(world.steps, world.context())
    assert (done.stopped, outcomes(done.run)) == ("", ["refused", "applied", "applied"])


def test_side_by_side(make_world: MakeWorld) -> None:
    world = make_world(6)
    for machine in world.machines:
        machine.boot()
    done = world.apply(world.steps, world.context("restart", batch=5))
    assert outcomes(done.run) == ["applied"] * 6
    assert all(machine.at_work == {machine.macs[0]: "virtio"} for machine in world.machines)


def test_what_was_begun_is_finished_though_the_window_is_closed_by_now(world: World) -> None:
    """Its guest may be off. To call the run ended would leave it so."""
    (machine,) = world.machines
    machine.boot()
    context = world.context("restart", window=Window.parse("22:00-04:00"))
    at(world, "23:00")
    killed(world, context, "before start")
    assert not machine.active

    at(world, "12:00")
    done = world.apply(world.steps, context)
    assert outcomes(done.run) == ["applied"]
    assert machine.active
    assert (done.stopped, done.run.finished is not None) == ("", True)


def test_nothing_new_is_begun_outside_the_window(make_world: MakeWorld) -> None:
    world = make_world(3)
    context = world.context(window=Window.parse("22:00-04:00"))
    at(world, "23:00")
    killed(world, context, "behind define")
    at(world, "12:00")
    done = world.apply(world.steps, context)
    assert outcomes(done.run) == ["applied", "not-reached", "not-reached"]
    assert done.stopped == "outside the window 22:00-04:00"


def test_who_was_a_canary_in_an_earlier_life_still_is_one(make_world: MakeWorld) -> None:
    """And the third, which is carried on first, is not taken for it."""
    world = make_world(3)
    context = world.context(max_failures=1)
    killed(world, context, "before define", 3)
    world.machines[2].refuses["define"] = "libvirt says no"
    done = world.apply(world.steps, context)
    assert (done.stopped, outcomes(done.run)) == ("", ["applied", "applied", "failed"])


def test_a_host_that_falls_silent_leaves_the_run_unfinished(make_world: MakeWorld) -> None:
    world = make_world(2)
    world.silent_at = "define"
    done = world.apply(world.steps, world.context())
    assert done.stopped == "libvirt did not answer when asked to define"
    assert (done.run.outcome, outcomes(done.run)) == ("unfinished", ["unfinished", "not-reached"])
    world.silent_at = ""
    done = world.apply(world.steps, world.context())
    assert (done.run.outcome, outcomes(done.run)) == ("done", ["applied", "applied"])
    assert len(runs(str(world.folder))) == 1


def test_a_silent_host_is_not_undone(world: World) -> None:
    """What was asked of it may still happen."""
    world.silent_at = "define"
    world.apply(world.steps, world.context())
    assert [name for _machine, name in world.calls] == ["define"]


def test_a_journal_that_cannot_be_written_ends_the_run_before_anything_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as full:
        full.setattr(os, "write", fails)
        with pytest.raises(JournalError, match=r"No space left on device\): stopped there"):
            world.apply(world.steps, world.context())
    assert world.calls == []
    done = world.apply(world.steps, world.context())
    assert outcomes(done.run) == ["applied"]


def test_ctrl_c_leaves_the_run_unfinished(world: World) -> None:
    (machine,) = world.machines
    machine.boot()
    world.interrupt_at = "behind shut_down"
    with pytest.raises(KeyboardInterrupt):
        world.apply(world.steps, world.context("restart"))
    (run,) = runs(str(world.folder))
    assert (run.outcome, run.finished) == ("unfinished", None)
    world.interrupt_at = ""
    assert outcomes(world.apply(world.steps, world.context("restart")).run) == ["applied"]
    assert [name for _machine, name in world.calls].count("start") == 1


def test_another_plan_is_refused_while_one_is_in_the_middle_of_a_domain(
    make_world: MakeWorld,
) -> None:
    world = make_world(2)
    killed(world, world.context(), "behind define")
    (run,) = runs(str(world.folder))
    with pytest.raises(RefusedError) as raised:
        world.apply(world.steps, world.context(), b"another plan")
    assert str(raised.value) == (
        f"run {run.id} is unfinished on guest-1: finish it (apply its plan again), or "
        f"undo it (vnicaudit rollback {run.id} --state {world.folder})"
    )
    other = world.apply(world.steps[1:], world.context(), b"another plan")
    assert outcomes(other.run) == ["applied"]


@pytest.mark.parametrize(
    ("steps", "mode", "words"),
    [
        (
            slice(None),
            "restart",
            "started with --mode next-boot, is unfinished: finish it with that",
        ),
        (slice(0, 1), "next-boot", "started with other steps (--include-unsafe"),
    ],
)
def test_a_run_is_finished_as_it_was_begun(
    make_world: MakeWorld, steps: slice, mode: Any, words: str
) -> None:
    world = make_world(2)
    killed(world, world.context(), "behind define")
    with pytest.raises(UsageError) as raised:
        world.apply(world.steps[steps], world.context(mode))
    assert words in str(raised.value)


def test_limits_are_those_of_the_command_that_goes_on(world: World) -> None:
    """A guest that turned out to be deaf is powered off by the same command with --force-off."""
    (machine,) = world.machines
    machine.boot()
    machine.deaf = True
    killed(world, world.context("restart"), "behind shut_down")
    done = world.apply(world.steps, world.context("restart", guest_deadline=5, force_off=True))
    assert outcomes(done.run) == ["applied"]
    assert machine.at_work == {machine.macs[0]: "virtio"}


def test_the_plan_is_kept_with_the_run_however_it_was_ended(world: World) -> None:
    killed(world, world.context(), "before file plan.json")
    done = world.apply(world.steps, world.context())
    assert (world.folder / "runs" / done.run.id / "plan.json").read_bytes() == b"plan"


def test_silence_while_a_run_is_taken_back(world: World) -> None:
    killed(world, world.context(), "behind define")
    world.silent_at = "define"
    (went,) = world.rollback(world.context())
    assert went.run.outcome == "unfinished"
    assert went.stopped == "libvirt did not answer when asked to define"
    world.silent_at = ""
    (went,) = world.rollback(world.context())
    assert (went.run.outcome, went.rolled_back) == ("rolled-back", True)
    assert world.machines[0].persistent == world.before[0]
