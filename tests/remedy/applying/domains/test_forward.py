"""One domain: what is said of it, and how long it was away."""

import pytest
from msgspec.structs import replace

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import BOOT_SECONDS, SHUTDOWN_SECONDS, Killed, World
from tests.rows import rows
from vnicaudit.model.plan import MODES, Mode, ModeOption
from vnicaudit.model.runs import UnitRun


def applied(world: World, mode: Mode, **given: object) -> UnitRun:
    """How the one unit ended."""
    (unit,) = world.apply(world.steps, world.context(mode, **given)).run.steps
    return unit


@rows
def test_when_it_takes_effect(world: World, mode: Mode, message: str, *, on: bool) -> None:
    (machine,) = world.machines
    if on:
        machine.boot()
    unit = applied(world, mode)
    assert (unit.outcome, unit.message) == ("applied", message)
    assert machine.active is on
    assert (unit.downtime is not None) is (on and mode != "next-boot")


@rows
def test_each_thing_is_done_once(world: World, mode: Mode, calls: list[str]) -> None:
    world.machines[0].boot()
    applied(world, mode)
    assert [name for _machine, name in world.calls] == calls
    assert applied(world, mode).outcome == "already"
    assert [name for _machine, name in world.calls] == calls


def test_how_long_it_was_away_is_not_known_of_one_that_an_earlier_life_took_away(
    world: World,
) -> None:
    world.machines[0].boot()
    world.kill_when = "before start", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context("restart"))
    world.kill_when = "", 1
    unit = applied(world, "restart")
    assert (unit.outcome, unit.downtime) == ("applied", None)


def test_how_long_it_was_away(world: World) -> None:
    world.machines[0].boot()
    unit = applied(world, "restart")
    assert unit.downtime is not None
    assert SHUTDOWN_SECONDS + BOOT_SECONDS <= unit.downtime < SHUTDOWN_SECONDS + BOOT_SECONDS + 1


def test_next_boot_then_restart(world: World) -> None:
    """The way back is known from the first run."""
    (machine,) = world.machines
    machine.boot()
    assert applied(world, "next-boot").outcome == "applied"
    assert machine.at_work == {machine.macs[0]: "e1000"}
    machine.driverless = True
    assert applied(world, "restart").outcome == "rolled-back"
    assert machine.persistent == world.before[0]
    assert machine.at_work == {machine.macs[0]: "e1000"}


def test_a_guest_that_goes_off_by_itself_is_started_as_it_was(world: World) -> None:
    """It crashes with the new device, say."""
    (machine,) = world.machines
    machine.boot()
    machine.crashes_with = "virtio"
    unit = applied(world, "restart")
    assert unit.outcome == "rolled-back"
    assert unit.message == "the domain is off: it did not stay up; it was put back"
    assert machine.at_work == {machine.macs[0]: "e1000"}


def test_a_guest_that_does_not_come_back_at_all_is_said_to_be_away(world: World) -> None:
    (machine,) = world.machines
    machine.boot()
    machine.crashes_with = "e1000"
    machine.driverless = True
    unit = applied(world, "restart")
    assert unit.outcome == "failed"
    assert (
        "it was put back, but the guest is not as it was before: the domain is off" in unit.message
    )


def test_the_second_nic_is_not_exchanged_and_the_first_goes_back(make_world: MakeWorld) -> None:
    world = make_world(1, 2)
    (machine,) = world.machines
    machine.boot()
    machine.keeps = machine.macs[1]
    unit = applied(world, "hotswap")
    assert unit.outcome == "failed"
    assert unit.message.startswith(f"the guest did not release {machine.macs[1]} within 30 s")
    assert machine.at_work == dict.fromkeys(machine.macs, "e1000")
    assert machine.persistent == world.before[0]


def test_a_hot_swap_that_the_plan_did_not_judge_is_refused(world: World) -> None:
    """A plan lists every mode of a guest that is off, and looks at no obstacle to a hot swap."""
    off = tuple(ModeOption(mode, True, "the guest is off", "off") for mode in MODES)
    steps = tuple(replace(step, modes=off) for step in world.steps)
    (machine,) = world.machines
    machine.boot()
    (unit,) = world.apply(steps, world.context("hotswap")).run.steps
    assert (unit.outcome, unit.message.partition(",")[0]) == (
        "refused",
        "it was off when the plan was made",
    )
    assert machine.persistent == world.before[0]
    (unit,) = world.apply(steps, world.context("restart")).run.steps
    assert unit.outcome == "applied"
