"""``apply --bench-design shadow``: what is changed, and the exit code, by what was measured."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench.silent import SilentListener
from tests.cli.records import options_of
from tests.remedy.applying import fakes
from tests.remedy.applying.fakes import World
from vnicaudit.bench import history
from vnicaudit.bench.facts.validity import ValidityLimits
from vnicaudit.bench.history import stored_measurement
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.running.opening import LineFacts
from vnicaudit.bench.trials.flips import FlippedNic
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.bench.trials.shadow_trials import Measurement, ShadowTrials
from vnicaudit.cli.output.telling import RunTelling
from vnicaudit.cli.remedy import apply
from vnicaudit.cli.remedy.apply_bench import ApplyOptions, print_trials
from vnicaudit.cli.remedy.apply_shadow import shadow_address, take_shadows_out
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, BenchRun, Decision
from vnicaudit.remedy.applying.runner import Tell
from vnicaudit.remedy.hypervisor import Machine

_ADDRESS = IPv4Interface("192.0.2.9/24")
_SHADOW = ("--quiet", "--bench", "smoke", "--bench-design", "shadow")


def options(*words: str) -> ApplyOptions:
    """Of ``vnicaudit apply plan.json``."""
    made = options_of(apply.command, "plan.json", *words)
    assert isinstance(made, ApplyOptions)
    return made


class Measurements:
    """What is measured beside the old NIC: nothing, but for the decision. ``goals``: the
    definitions that were measured."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.goals: list[bytes] = []
        self.ids: list[str] = []

    def __call__(
        self, request: TrialRequest, guest: FlippedNic, machine: Machine, goal: bytes,
        address: IPv4Interface, tell: Tell,
    ) -> Measurement:  # fmt: skip
        del guest, machine, address, tell
        self.goals.append(goal)
        place = history.new_measurement(request.state)
        self.ids.append(place.id)
        run = BenchRun(
            id=place.id, started="", tool="vnicaudit", version="", profile="p", design="shadow",
            seed=1, looks=(5,), alphas=(0.05,),
        )  # fmt: skip
        verdict: Any = "improved" if self.action == "keep" else "regressed"
        action: Any = self.action
        result = BenchResult(
            run=run, arms=("before", "after"), paths=(), workloads=(),
            decision=Decision(verdict=verdict, action=action),
        )  # fmt: skip
        place.write_head(result)

        class Made:
            def measure(self) -> BenchResult:
                return result

        return Made()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = fakes.installed(World(tmp_path), monkeypatch)
    made.machines[0].boot()
    made.steps = tuple(map(fakes.step_of, made.machines))
    return made


def _go(world: World, measured: Measurements, halted: Callable[[], str] | None = None) -> int:
    trial = TrialRequest(
        profile=load_profile("smoke"), peer="local", line=LineFacts(), seed=1,
        limits=ValidityLimits(),
        undecided="roll-back", state=world.folder, listener=SilentListener(),
        adapters=lambda: world.adapters,
    )  # fmt: skip
    context = world.context("hotswap")
    if halted is not None:
        context = replace(context, halted=halted)
    trials = ShadowTrials(
        world.steps, b"plan", context, trial, _ADDRESS, RunTelling(quiet=True),
        shadow=measured,
    )  # fmt: skip
    given = options(*_SHADOW, "--state", str(world.folder))
    return print_trials(trials, given, context.kinds)


def test_what_helps_is_changed(world: World) -> None:
    measured = Measurements("keep")
    assert _go(world, measured) == 0
    (machine,) = world.machines
    assert machine.at_work == {machine.macs[0]: "virtio"}
    assert b"virtio" in measured.goals[0]
    assert stored_measurement(world.folder, measured.ids[0]).head().decision == Decision(
        verdict="improved", action="keep", done="kept"
    )


def test_no_measurement_begins_behind_a_hang_up(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next domain was measured, for up to hours, and then not changed."""
    measured = Measurements("keep")
    assert _go(world, measured, lambda: "the terminal hung up") == 5
    assert (measured.goals, world.calls) == ([], [])
    assert capsys.readouterr().err == (
        "Stopped: the terminal hung up; guest-1 and the guests after it were not reached\n"
    )


def test_what_does_not_help_is_left_alone(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """No run is begun, nothing is defined; exit code 6."""
    measured = Measurements("roll-back")
    assert _go(world, measured) == 6
    assert [machine.persistent for machine in world.machines] == world.before
    assert world.calls == []
    assert not (world.folder / "runs").exists()
    assert capsys.readouterr().err == ("Nothing was changed: guest-1 keeps its current NIC.\n")
    assert stored_measurement(world.folder, measured.ids[0]).head().decision == Decision(
        verdict="regressed", action="none"
    )


def test_what_does_not_run_as_planned_is_rolled_back(world: World) -> None:
    measured = Measurements("keep")
    world.machines[0].driverless = True
    assert _go(world, measured) == 6
    decision = stored_measurement(world.folder, measured.ids[0]).head().decision
    assert decision is not None
    assert decision.done == "rolled-back"


def test_what_was_killed_in_the_change_is_not_measured_again(world: World) -> None:
    measured = Measurements("keep")
    world.kill_when = ("behind detach", 1)
    with pytest.raises(fakes.Killed):
        _go(world, measured)
    world.kill_when = ("", 1)
    assert _go(world, measured) == 0
    assert len(measured.goals) == 1
    assert world.machines[0].at_work == {world.machines[0].macs[0]: "virtio"}


def test_what_is_so_already_is_not_measured(world: World) -> None:
    measured = Measurements("keep")
    assert _go(world, measured) == 0
    assert _go(world, measured) == 0
    assert len(measured.goals) == 1


def test_a_guest_that_is_off(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    measured = Measurements("keep")
    world.machines[0].running = None
    assert _go(world, measured) == 5
    assert capsys.readouterr().err == "guest-1: refused: guest-1 is off: it cannot be measured\n"
    assert measured.goals == []


def _many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = fakes.installed(World(folder, 3), monkeypatch)
    for machine in made.machines:
        machine.boot()
    made.steps = tuple(map(fakes.step_of, made.machines))
    return made


def test_a_guest_that_cannot_be_measured_stops_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind it were not reached, without a word."""
    measured = Measurements("keep")
    many = _many(world.folder, monkeypatch)
    many.machines[0].running = None
    many.leaves(2)
    assert _go(many, measured) == 5
    assert len(measured.goals) == 1
    assert many.machines[2].at_work == {many.machines[2].macs[0]: "virtio"}


def test_a_canary_that_is_not_well_stops_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were measured and changed all the same, whatever --canary and --max-failures said."""
    measured = Measurements("keep")
    many = _many(world.folder, monkeypatch)
    for machine in many.machines:
        machine.driverless = True
    assert _go(many, measured) == 5
    assert len(measured.goals) == 1
    assert [machine.persistent for machine in many.machines] == many.before
    said = capsys.readouterr().err
    assert "Stopped: a canary was not changed as planned; guest-2 and the guests after it" in said


def test_a_terminal_that_hung_up_begins_with_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Measurements("keep")
    many = _many(world.folder, monkeypatch)
    context = many.context

    def halted_after_one(*given: Any, **more: Any) -> Any:
        halted = lambda: "the terminal hung up" if measured.goals else ""  # noqa: E731
        return replace(context(*given, **more), halted=halted)

    monkeypatch.setattr(many, "context", halted_after_one)
    assert _go(many, measured) == 5
    assert len(measured.goals) == 1


def test_several_nics_of_a_domain(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    del world
    several = fakes.installed(World(tmp_path, nics=2), monkeypatch)
    with pytest.raises(UsageError, match="guest-1 has several in the plan, or is a file"):
        _go(several, Measurements("keep"))


@pytest.mark.parametrize(
    "words",
    [
        ["--bench-design", "shadow", "--shadow-address", "192.0.2.9/24"],
        ["--bench", "smoke", "--bench-design", "flips", "--shadow-address", "192.0.2.9/24"],
        ["--bench", "smoke", "--bench-design", "shadow"],
    ],
)
def test_design_and_address_go_together(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--bench-design shadow needs --shadow-address IP/LENGTH"):
        shadow_address(options(*words).trials)


def test_the_address() -> None:
    given = options(*_SHADOW, "--shadow-address", "192.0.2.9/24")
    assert shadow_address(given.trials) == _ADDRESS
    assert shadow_address(options("--bench-design", "shadow").trials) is None
    with pytest.raises(UsageError, match="is not an address with prefix length"):
        shadow_address(options(*_SHADOW, "--shadow-address", "web").trials)


def test_nothing_to_take_out(tmp_path: Path) -> None:
    """No folder is made by looking."""
    take_shadows_out(options("--state", str(tmp_path / "none")), adapters)
    assert not (tmp_path / "none").exists()
