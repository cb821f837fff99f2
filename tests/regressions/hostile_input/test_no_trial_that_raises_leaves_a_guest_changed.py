"""A ValueError while a changed guest was measured ended ``apply --bench`` in the middle: nothing
was taken back, and the other guests of the run were not reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remedy.applying.conftest import MakeWorld, make_world
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.hypervisor import Hypervisor

__all__ = ["make_world"]

ERRORS = [
    ValueError("Exceeds the limit (4300 digits) for integer string conversion"),
    OverflowError("int too large to convert to float"), KeyError("eth0"), OSError(28, "No space"),
    AssertionError("a mistake of ours"),
]  # fmt: skip


class Odd:
    """A trial that meets, at one moment of every guest, what nobody thought of."""

    def __init__(self, moment: str, error: Exception) -> None:
        self.moment, self.error = moment, error
        self.ends: list[tuple[Outcome, bool]] = []

    def __call__(
        self, _folder: Path, _key: str, _host: Hypervisor, _uuid: str, _macs: tuple[str, ...]
    ) -> Odd:
        return self

    def before(self) -> None:
        self._now("before")

    def after(self) -> str:
        self._now("after")
        return ""

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        self.ends.append((outcome, undone))
        self._now("ended")

    def _now(self, moment: str) -> None:
        if self.moment == moment:
            raise self.error


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_is_raised_after_the_change_takes_it_back(
    error: Exception, make_world: MakeWorld
) -> None:
    world = make_world(guests=2)
    for machine in world.machines:
        machine.boot()
    trial = Odd("after", error)
    done = world.apply(world.steps, world.context("restart"), trials=trial)
    first = done.run.steps[0]
    assert first.outcome == "failed"
    assert first.message.startswith(
        f"internal error during the measurement: {type(error).__name__}"
    )
    assert first.message.endswith("; it was put back")
    assert trial.ends[0] == ("failed", True)
    for number, machine in enumerate(world.machines):
        assert machine.persistent == world.before[number]
        assert machine.at_work[machine.macs[0]] == "e1000"
    assert not [step for step in done.run.steps if step.outcome == "unfinished"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_is_raised_before_it_begins_nothing(error: Exception, make_world: MakeWorld) -> None:
    world = make_world()
    world.machines[0].boot()
    done = world.apply(world.steps, world.context("restart"), trials=Odd("before", error))
    (unit,) = done.run.steps
    assert unit.outcome == "refused"
    assert unit.message.startswith("it cannot be measured: internal error during the measurement: ")
    assert world.machines[0].persistent == world.before[0]
    assert not [call for call in world.calls if call[1] in ("define", "start", "shut_down")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_is_raised_when_all_is_done_changes_nothing_of_it(
    error: Exception, make_world: MakeWorld
) -> None:
    world = make_world()
    world.machines[0].boot()
    done = world.apply(world.steps, world.context("restart"), trials=Odd("ended", error))
    assert [step.outcome for step in done.run.steps] == ["applied"]
    assert world.machines[0].at_work[world.machines[0].macs[0]] == "virtio"
