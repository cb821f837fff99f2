"""A plan that is applied and taken back by turns, by what really does it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import Killed, Machine, World, installed
from vnicaudit.bench.trials.flips import PlanFlips
from vnicaudit.bench.trials.request import AFTER, BEFORE
from vnicaudit.errors import ActionError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.history import runs

MODES: tuple[Mode, ...] = ("restart", "hotswap")

Make = Callable[..., World]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = installed(World(tmp_path), monkeypatch)
    made.machines[0].boot()
    return made


def flips(world: World, mode: Mode = "restart", **given: object) -> PlanFlips:
    return PlanFlips(world.steps, b"plan", world.context(mode, **given), world._tell)


def model(world: World) -> str:
    (machine,) = world.machines
    world.clock.sleep(10.0)
    return machine.at_work[machine.macs[0]]


def as_before(world: World) -> bool:
    (machine,) = world.machines
    return machine.persistent == world.before[0] and model(world) == "e1000"


@pytest.mark.parametrize("mode", MODES)
def test_five_blocks(world: World, mode: Mode) -> None:
    one = flips(world, mode)
    for _ in range(5):
        one.to(AFTER)
        assert model(world) == "virtio"
        one.to(BEFORE)
        assert as_before(world)
        assert one.applied is None


def test_a_note_on_the_guest_is_said_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came twice at every flip: the guest is read anew each time, and is the same."""
    note = "The guest has no tc."
    capture = Machine.capture
    monkeypatch.setattr(Machine, "capture", lambda *given: replace(capture(*given), notes=(note,)))
    one = flips(world, "hotswap")
    for _ in range(3):
        one.to(AFTER)
        one.to(BEFORE)
    said = [text for _, text in world.told if text.startswith("applied")]
    assert said == [f"applied: {note}", *["applied"] * 5]
    assert sum(note in text for _, text in world.told) == 1
    assert all(run.steps[0].message == note for run in runs(str(world.folder)))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_so_already_is_left_alone(world: World, mode: Mode) -> None:
    one = flips(world, mode)
    one.to(BEFORE)
    assert world.calls == []
    one.to(AFTER)
    done = len(world.calls)
    one.to(AFTER)
    assert len(world.calls) == done
    assert one.applied is not None


def test_what_cannot_be_applied_says_why(world: World) -> None:
    (machine,) = world.machines
    machine.refuses["define"] = "cannot define: the disk is full"
    one = flips(world)
    with pytest.raises(ActionError) as error:
        one.to(AFTER)
    assert str(error.value).startswith("guest-1 could not be applied (run 2")
    assert "cannot define: the disk is full" in str(error.value)
    one.to(BEFORE)
    assert as_before(world)


def test_what_was_taken_back_by_itself_is_no_run_to_take_back(world: World) -> None:
    world.machines[0].driverless = True
    one = flips(world, guest_deadline=20.0)
    with pytest.raises(ActionError, match="could not be applied"):
        one.to(AFTER)
    one.to(BEFORE)
    assert as_before(world)


def test_what_cannot_be_taken_back_says_why(world: World) -> None:
    one = flips(world)
    one.to(AFTER)
    world.machines[0].refuses["define"] = "cannot define: the disk is full"
    with pytest.raises(ActionError) as error:
        one.to(BEFORE)
    assert str(error.value).startswith("guest-1 could not be rolled back (run 2")
    assert "cannot define: the disk is full" in str(error.value)
    world.machines[0].refuses.clear()
    one.to(BEFORE)
    assert as_before(world)


PLACES = (
    "behind define", "behind shut_down", "before start", "behind start", "behind line begin",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_an_interruption_in_the_middle_is_taken_back(world: World, place: str) -> None:
    one = flips(world)
    world.interrupt_at = place
    with pytest.raises(KeyboardInterrupt):
        one.to(AFTER)
    world.interrupt_at = ""
    one.to(BEFORE)
    assert as_before(world)


@pytest.mark.parametrize("place", PLACES)
def test_an_interruption_of_the_way_back(world: World, place: str) -> None:
    one = flips(world)
    one.to(AFTER)
    world.interrupt_at = place
    with pytest.raises(KeyboardInterrupt):
        one.to(BEFORE)
    world.interrupt_at = ""
    one.to(BEFORE)
    assert as_before(world)


@pytest.mark.parametrize("place", PLACES)
def test_what_an_earlier_life_left_in_the_middle_is_taken_back(world: World, place: str) -> None:
    world.kill_when = (place, 1)
    with pytest.raises(Killed):
        flips(world).to(AFTER)
    world.kill_when = ("", 1)
    flips(world).to(BEFORE)
    assert as_before(world)


def test_a_host_that_stops_answering(world: World) -> None:
    one = flips(world)
    world.silent_at = "start"
    with pytest.raises(ActionError, match="could not be applied"):
        one.to(AFTER)
    with pytest.raises(ActionError, match="could not be rolled back"):
        one.to(BEFORE)
    world.silent_at = ""
    one.to(BEFORE)
    assert as_before(world)
