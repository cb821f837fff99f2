"""``vnicaudit apply --bench``: a guest of a made-up host, measured before and after its change."""

from __future__ import annotations

import os
import re
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.bench.judging.made import steady
from tests.bench.running.fakes import Engine, plugins
from tests.bench.trials.places import Opening
from tests.remedy.applying.fakes import World, installed, step_of
from tests.rows import rows, rows_of_tuples
from vnicaudit.bench import history
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.cli.main import run
from vnicaudit.cli.remedy import apply_bench
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.model.plan import Plan
from vnicaudit.reports.plan import to_json

PROFILE = """\
title = "Made"
repeats = 5
guards = []
cooldown = 0

[[workload]]
engine = "iperf3"
patterns = ["tcp"]
"""

Capture = pytest.CaptureFixture[str]


class Any7(Opening):
    """Whatever the seed."""

    def __call__(self, stack: object, adapters: object, seed: int, say: object) -> Any7:
        del stack, adapters, seed, say
        return self


class Host:
    """A host with one guest, whose network is worth ``levels``: model of its NIC -> bit/s."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.world = installed(World(folder / "state"), monkeypatch)
        (self.machine,) = self.world.machines
        self.machine.boot()
        self.levels = {"e1000": 1e9, "virtio": 1e9}
        self.error: BaseException | None = None
        self.hangs_up = False
        self.opening = Any7()
        measured = partial(
            TrialRequest, opening=self.opening, plugins=plugins(Engine(self.outcome))
        )
        monkeypatch.setattr(apply_bench, "TrialRequest", measured)
        step = step_of(self.machine)
        plan = Plan(
            tool="vnicaudit",
            version="1",
            created="2026-11-21T10:15:00Z",
            to="virtio",
            targets=(self.world.uri,),
            steps=(step,),
        )
        (folder / "plan.json").write_bytes(to_json(plan))
        (folder / "p.toml").write_text(PROFILE)

    def outcome(self, _workload: Workload, _ends: Ends, number: int) -> float:
        if self.error is not None and self.model == "virtio":
            raise self.error
        if self.hangs_up and self.model == "virtio":
            os.kill(os.getpid(), signal.SIGHUP)
        return self.levels[self.model] * steady(1.0)[number % 10]

    @property
    def model(self) -> str:
        return self.machine.at_work[self.machine.macs[0]]

    def apply(self, *options: str, bench: bool = True) -> int:
        measured = ["--bench", str(self.folder / "p.toml")] if bench else []
        words = [
            "apply", str(self.folder / "plan.json"), "--yes", "--mode", "restart",
            "--state", str(self.folder / "state"), *measured, *options,
        ]  # fmt: skip
        return run(words, self.world.wiring)

    def measured_by(self, design: str) -> None:
        """The profile says how."""
        (self.folder / "p.toml").write_text(f'designs = ["{design}"]\n{PROFILE}')

    def result(self) -> BenchResult:
        state = self.folder / "state"
        (only,) = history.measurement_ids(state)
        return history.stored_measurement(state, only).result()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("COLUMNS", "100")
    return Host(tmp_path, monkeypatch)


@rows
def test_what_is_measured_decides(
    host: Host, capsys: Capture, design: str, level: float, code: int, model: str, verdict: str,
    done: str,
) -> None:  # fmt: skip
    host.levels["virtio"] = level
    host.measured_by(design)
    assert host.apply("--bench-peer", "ssh://root@gen1") == code
    assert host.model == model
    assert (host.machine.persistent == host.world.before[0]) is (model == "e1000")
    result = host.result()
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.done) == (verdict, done)
    assert result.run.design == ("boots" if design == "flips" else design)
    shown = capsys.readouterr()
    assert f"Stored as {result.run.id}: vnicaudit bench show {result.run.id} --state " in shown.out
    word = {"improved": "better", "regressed": "worse", "not-judged": "not judged"}[verdict]
    assert re.search(rf"\b{word}\b", shown.out)
    target = f"agent://{host.machine.uuid}?connect=qemu:///system"
    assert set(host.opening.opened) == {(target, "ssh://root@gen1", host.machine.macs[0])}


@rows_of_tuples
def test_what_is_undecided_is_done_with_as_asked(
    host: Host, options: tuple[str, ...], code: int, model: str
) -> None:
    assert host.apply(*options) == code
    assert host.model == model


@pytest.mark.parametrize("design", ["single-flip", "flips"])
def test_why_it_was_taken_back_is_told(host: Host, capsys: Capture, design: str) -> None:
    host.levels["virtio"] = 6e8 if design == "flips" else 3e8
    host.measured_by(design)
    host.apply()
    told = "% worse" if design == "flips" else "three times in a row less than half"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "design"), [("", "boots"), ("catastrophe-only = true\n", "single-flip")]
)
def test_it_takes_turns_unless_nothing_but_a_catastrophe_is_looked_for(
    host: Host, more: str, design: str
) -> None:
    (host.folder / "p.toml").write_text(more + PROFILE)
    host.levels["virtio"] = 5e9
    assert host.apply() == 0
    assert host.result().run.design == design
    assert host.result().run.looks == ((2, 3, 5) if design == "boots" else (5,))


@rows
def test_the_profile_says_which_design_suits_it(host: Host, designs: str, design: str) -> None:
    """The first that can be done with a plan; where none of them can, what usually is done."""
    (host.folder / "p.toml").write_text(f"designs = {designs}\n{PROFILE}")
    host.levels["virtio"] = 5e9
    assert host.apply() == 0
    assert host.result().run.design == design


def test_what_it_costs_is_told_before_anything_is_done(host: Host, capsys: Capture) -> None:
    """Four turns of three runs of 11.5 s, five power cycles; at most ten turns."""
    host.levels["virtio"] = 5e9
    assert host.apply() == 0
    said = capsys.readouterr().err
    told = "Measuring: 1 NIC, for each 4 turns with 4 power cycles, about "
    assert said.index(told) < said.index("shutting down")
    assert "if that is not conclusive, up to 10 turns with 1" in said


@pytest.mark.parametrize("design", ["single-flip", "flips"])
def test_what_cannot_be_measured_is_not_changed(
    host: Host, capsys: Capture, monkeypatch: pytest.MonkeyPatch, design: str
) -> None:
    def lacks(*_: object) -> None:
        raise EndpointError("agent://web01 has no iperf3: install it")

    monkeypatch.setattr(host.opening, "require", lacks)
    host.measured_by(design)
    assert host.apply() == 5
    assert host.model == "e1000"
    assert host.world.calls == []
    shown = capsys.readouterr()
    why = "it cannot be measured: agent://web01 has no iperf3: install it"
    assert f"{shown.out}{shown.err}".count(why) == 1


def test_what_was_changed_before_is_not_measured_again(host: Host, capsys: Capture) -> None:
    host.levels["virtio"] = 5e9
    assert host.apply() == 0
    assert host.model == "virtio"
    calls = list(host.world.calls)
    capsys.readouterr()
    assert host.apply() == 0
    assert host.world.calls == calls
    assert len(history.measurement_ids(host.folder / "state")) == 1
    shown = capsys.readouterr()
    assert "already" in shown.out + shown.err


def test_a_guest_that_is_off_is_left_as_it_is(host: Host, capsys: Capture) -> None:
    host.machine.running = None
    assert host.apply() == 5
    assert "guest-1: refused" in capsys.readouterr().err
    assert host.machine.persistent == host.world.before[0]


@pytest.mark.parametrize("design", ["single-flip", "flips"])
def test_a_guest_that_is_lost_after_the_change_is_put_back(host: Host, design: str) -> None:
    host.error = EndpointError("agent://web01: gone")
    host.measured_by(design)
    assert host.apply() in (4, 5)
    assert host.model == "e1000"
    assert host.machine.persistent == host.world.before[0]


def test_it_is_interrupted_between_flips(host: Host, capsys: Capture) -> None:
    host.error = KeyboardInterrupt()
    assert host.apply() == 130
    assert host.model == "e1000"
    assert host.machine.persistent == host.world.before[0]
    assert host.result().run.finished is None
    told = f"the measurement so far is stored: vnicaudit bench show {host.result().run.id} --state "
    assert told in capsys.readouterr().err


def test_a_terminal_that_hangs_up_ends_the_flips(host: Host) -> None:
    """Hours of them are no reason to go on where nobody looks any more; it ends as it began."""
    host.hangs_up = True
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, lambda *_given: sys.exit(129))
    try:
        with pytest.raises(SystemExit, match="129"):
            host.apply()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert host.model == "e1000"
    assert host.machine.persistent == host.world.before[0]
    assert host.result().run.finished is None


PLACES = ("behind shut_down", "behind define", "behind start")


@pytest.mark.parametrize("first", PLACES)
def test_a_terminal_that_hangs_up_twice_leaves_no_guest_off(
    first: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel says so, and the shell: the second came while the guest was being given back."""
    passing, seen = host.world.passing, list[str]()

    def hang_up(place: str) -> None:
        passing(place)
        if place == first or (seen and place in PLACES):
            seen.append(place)
            os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr(host.world, "passing", hang_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit, match="129"):
            host.apply()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert len(seen) > 1
    host.world.clock.sleep(10)  # who was asked to shut down has done so by now
    assert host.machine.active
    assert (host.model, host.machine.persistent) == ("e1000", host.world.before[0])


def test_a_single_flip_that_was_interrupted_goes_on(host: Host, capsys: Capture) -> None:
    host.levels["virtio"] = 5e9
    host.measured_by("single-flip")
    host.error = KeyboardInterrupt()
    assert host.apply() == 130
    assert host.model == "virtio"
    before = [one.started for one in host.result().samples]
    assert len(before) == 5
    host.error = None
    assert host.apply() == 0, capsys.readouterr().err
    assert [one.started for one in host.result().samples[:5]] == before
    assert len(host.result().samples) == 10


def test_one_that_was_measured_is_not_finished_without(host: Host, capsys: Capture) -> None:
    """It would be kept, and nobody knew whether it is better."""
    host.measured_by("single-flip")
    host.error = KeyboardInterrupt()
    assert host.apply() == 130
    host.error = None
    assert host.apply(bench=False) == 2
    assert "a measured one, is unfinished: finish it with --bench, or" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"),
    [("--bench-peer", "ssh://gen1"), ("--on-undecided", "keep")],
)
def test_a_word_about_a_measurement_that_is_not_asked_for(
    host: Host, capsys: Capture, option: str, value: str
) -> None:
    assert host.apply(option, value, bench=False) == 2
    told = f"{option} needs --bench PROFILE\n"
    assert told in capsys.readouterr().err


@rows_of_tuples
def test_what_makes_no_sense(
    host: Host, capsys: Capture, options: tuple[str, ...], message: str
) -> None:
    assert host.apply(*options) == 2
    assert message in capsys.readouterr().err
    assert host.world.calls == []
    assert history.measurement_ids(host.folder / "state") == []
