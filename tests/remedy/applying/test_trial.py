"""A guest that is measured before and after: kept, or taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remedy.applying.fakes import Killed, World
from vnicaudit.errors import EndpointError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.runner import RunResult
from vnicaudit.remedy.hypervisor import Hypervisor


class Trial:
    """Says what it is told to say, and notes what it is asked."""

    def __init__(self, world: World, worse: str = "", fails: str = "") -> None:
        self.world = world
        self.worse = worse
        self.fails = fails
        self.asked: list[str] = []
        self.made_for: list[tuple[str, str, tuple[str, ...]]] = []

    def __call__(
        self, folder: Path, key: str, host: Hypervisor, uuid: str, macs: tuple[str, ...]
    ) -> Trial:
        assert folder.parent == self.world.folder / "runs"
        assert host.uri == self.world.uri
        self.made_for.append((key, uuid, macs))
        return self

    def before(self) -> None:
        self._note("before")
        if self.fails == "before":
            raise EndpointError("agent://web01 has no iperf3")

    def after(self) -> str:
        self._note("after")
        if self.fails == "after":
            raise EndpointError("agent://web01 does not answer")
        if self.fails == "killed":
            raise Killed
        if self.fails == "back":
            self.world.machines[0].refuses["define"] = "libvirt says no"
        return self.worse

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        self._note(f"ended, {outcome}{'' if undone else ', not undone'}")

    def _note(self, what: str) -> None:
        (machine,) = self.world.machines
        self.asked.append(f"{what}: {machine.at_work[machine.macs[0]]}")


def restarted(world: World, trial: Trial) -> RunResult:
    world.machines[0].boot()
    return world.apply(world.steps, world.context("restart"), trials=trial)


def test_what_helps_is_kept(world: World) -> None:
    trial = Trial(world)
    done = restarted(world, trial)
    assert done.run.steps[0].outcome == "applied"
    assert trial.asked == ["before: e1000", "after: virtio", "ended, applied: virtio"]
    (machine,) = world.machines
    assert [made[1:] for made in trial.made_for] == [(machine.uuid, (machine.macs[0],))]


def test_what_makes_it_worse_is_taken_back(world: World) -> None:
    trial = Trial(world, worse="TCP from the guest is 40 % slower")
    done = restarted(world, trial)
    (unit,) = done.run.steps
    assert unit.outcome == "rolled-back"
    assert unit.message == "TCP from the guest is 40 % slower; it was put back"
    assert world.machines[0].persistent == world.before[0]
    assert trial.asked == ["before: e1000", "after: virtio", "ended, rolled-back: e1000"]


def test_what_could_not_be_taken_back_is_told(world: World) -> None:
    trial = Trial(world, worse="TCP from the guest is 40 % slower", fails="back")
    done = restarted(world, trial)
    (unit,) = done.run.steps
    assert unit.outcome == "failed"
    assert "libvirt says no" in unit.message
    assert trial.asked == ["before: e1000", "after: virtio", "ended, failed, not undone: virtio"]


def test_what_cannot_be_measured_before_is_not_begun(world: World) -> None:
    trial = Trial(world, fails="before")
    done = restarted(world, trial)
    (unit,) = done.run.steps
    assert unit.outcome == "refused"
    assert unit.message == "it cannot be measured: agent://web01 has no iperf3"
    assert not [call for call in world.calls if call[1] in ("define", "start", "shut_down")]


def test_what_cannot_be_measured_afterwards_is_taken_back(world: World) -> None:
    trial = Trial(world, fails="after")
    done = restarted(world, trial)
    (unit,) = done.run.steps
    assert unit.outcome == "failed"
    assert unit.message == "agent://web01 does not answer; it was put back"
    assert world.machines[0].persistent == world.before[0]


def test_a_guest_that_is_left_alone_is_not_measured(world: World) -> None:
    trial = Trial(world)
    world.machines[0].boot()
    done = world.apply(world.steps, world.context(), trials=trial)
    assert (done.run.steps[0].outcome, trial.asked) == ("applied", [])


def test_measuring_afterwards_goes_on_where_the_program_was_ended(world: World) -> None:
    """It is not measured *before* once it is changed."""
    trial = Trial(world, fails="killed")
    with pytest.raises(Killed):
        restarted(world, trial)
    trial.fails = ""
    trial.asked.clear()
    done = world.apply(world.steps, world.context("restart"), trials=trial)
    assert done.run.steps[0].outcome == "applied"
    assert trial.asked == ["after: virtio", "ended, applied: virtio"]
