"""Measured before, measured after, carried on where it was ended in between."""

from pathlib import Path

import pytest

from tests.bench.judging.made import TCP, steady
from tests.bench.running.fakes import RR, Engine, Guard, Told, plugins, profile
from tests.bench.trials.places import Opening, order
from tests.remedy.applying.fakes import Killed, World
from vnicaudit.bench import history
from vnicaudit.bench.contract import Ends, Measured, RailCheck
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.bench.trials.single_flip import SingleFlip, TrialFactory
from vnicaudit.errors import EndpointError, RefusedError, UsageError
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.model.measurement import Path as PathOf
from vnicaudit.model.runs import Outcome

MAC, OTHER = "52:54:00:00:00:01", "52:54:00:00:00:02"
URL = "agent://u-u-i-d?connect=qemu:///system"


class Guest:
    """What its network is worth now."""

    def __init__(self) -> None:
        self.level = 1e9
        self.killed_at = 0
        self.error: BaseException = Killed()

    def outcome(self, _workload: Workload, _ends: Ends, number: int) -> float | Measured:
        if number == self.killed_at:
            raise self.error
        return self.level * steady(1.0)[number % 10]


class Made:
    """A trial of a guest, and what belongs to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.guest = Guest()
        self.told = Told()
        self.opening = Opening()
        self.engine = Engine(self.guest.outcome)
        self.guard = Guard()

    def order(self, **more: object) -> TrialRequest:
        one = more.pop("profile", profile(runs=5))
        return order(
            self.folder / "state", one, self.told,  # type: ignore[arg-type]
            plugins=plugins(self.engine, self.guard), opening=self.opening, **more,
        )  # fmt: skip

    def trial(self, *macs: str, **more: object) -> SingleFlip:
        (self.folder / "run").mkdir(exist_ok=True)
        return SingleFlip(
            self.order(**more), self.folder / "run", "key", World(self.folder), "u-u-i-d",  # type: ignore[arg-type]
            macs or (MAC,),
        )  # fmt: skip

    def results(self) -> list[BenchResult]:
        state = self.folder / "state"
        return [
            history.stored_measurement(state, name).result()
            for name in history.measurement_ids(state)
        ]

    def result(self) -> BenchResult:
        (only,) = self.results()
        return only


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_what_got_better_is_kept(made: Made) -> None:
    trial = made.trial()
    trial.before()
    assert made.result().run.finished is None
    made.guest.level = 5e9
    assert trial.after() == ""
    trial.note_outcome("applied", undone=True)
    result = made.result()
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.action) == ("not-judged", "keep")
    assert result.decision.done == "kept"
    assert result.run.labels == {"vcpus": "2"}
    assert [(one.arm, one.block) for one in result.samples] == [
        (arm, block) for arm in ("before", "after") for block in range(5)
    ]
    assert [path.name for path in result.paths] == ["before", "after"]
    assert (result.run.design, result.run.looks) == ("single-flip", (5,))
    assert result.environment[0].facts == {"booted": "1", "booted (after)": "2"}
    assert made.opening.opened == [(URL, "ssh://gen1", MAC)] * 2


def test_what_got_worse_is_taken_back_and_says_why(made: Made) -> None:
    trial = made.trial()
    trial.before()
    made.guest.level = 3e8
    why = trial.after()
    assert "three times in a row less than half of the 998 Mb/s before" in why
    trial.note_outcome("rolled-back", undone=True)
    decision = made.result().decision
    assert decision is not None
    assert (decision.verdict, decision.action, decision.done) == (
        "regressed", "roll-back", "rolled-back",
    )  # fmt: skip


@pytest.mark.parametrize("outcome", ["failed", "rolled-back"])
def test_a_way_back_that_failed_is_no_way_back(made: Made, outcome: Outcome) -> None:
    trial = made.trial()
    trial.before()
    made.guest.level = 3e8
    assert trial.after()
    trial.note_outcome(outcome, undone=False)
    decision = made.result().decision
    assert decision is not None
    assert (decision.action, decision.done) == ("roll-back", "not-rolled-back")


@pytest.mark.parametrize("undecided", ["roll-back", "keep"])
def test_what_is_not_judged_is_kept(made: Made, undecided: str) -> None:
    trial = made.trial(undecided=undecided)
    trial.before()
    made.guest.level = 0.6e9
    assert trial.after() == ""


def test_a_catastrophe_does_not_wait(made: Made) -> None:
    trial = made.trial()
    trial.before()
    made.guest.level = 1e6
    why = trial.after()
    assert why.startswith(
        "tcp, goodput: after 992 kb/s, 1.00 Mb/s and 1.00 Mb/s, three times in a row less than"
    )
    assert len([one for one in made.result().samples if one.arm == "after"]) == 3


def test_a_guard_rail_that_the_change_broke(made: Made) -> None:
    guard = made.guard = Guard(broken=["after"])
    trial = made.trial(profile=profile(runs=3, guards=("ping",)))
    trial.before()
    made.guest.level = 5e9
    assert trial.after() == "guard rail ping failed (after): lost"
    assert guard.asked == [
        "before before", "after before, as in before",
        "after after, as in before", "after after, as in before",
    ]  # fmt: skip
    result = made.result()
    assert [one.arm for one in result.samples] == ["before"] * 3
    assert len(made.engine.runs) == 1 + 3  # the warming up, and the runs, before it was changed
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.action) == ("regressed", "roll-back")
    assert result.run.finished is not None


def test_a_guard_rail_that_breaks_under_load(made: Made) -> None:
    """It is looked at again when all is run."""
    guard = made.guard
    trial = made.trial(profile=profile(runs=3, guards=("ping",)))
    trial.before()

    def outcome(_workload: Workload, _ends: Ends, _number: int) -> float:
        guard.broken = ["after"]
        return 5e9

    made.engine.outcome = outcome
    assert trial.after() == "guard rail ping failed (after): lost"
    assert [one.arm for one in made.result().samples] == ["before"] * 3 + ["after"] * 3


def test_a_guard_rail_that_was_broken_before_ends_nothing(made: Made) -> None:
    made.guard = Guard(broken=["before", "after"])
    trial = made.trial(profile=profile(runs=5, guards=("ping",)))
    trial.before()
    made.guest.level = 5e9
    assert trial.after() == ""
    assert len(made.result().samples) == 10


def test_each_nic_is_measured_by_itself(made: Made) -> None:
    trial = made.trial(MAC, OTHER)
    trial.before()
    assert trial.after() == ""
    assert len(made.results()) == 2
    assert [mac for _url, _peer, mac in made.opening.opened][:4] == [MAC, OTHER, MAC, OTHER]


@pytest.mark.parametrize("at", range(8, 14))
def test_a_run_that_was_killed_goes_on(made: Made, at: int) -> None:
    """5 runs and a warming up before, then the same after: 12 in all."""
    made.trial().before()
    made.guest.level = 5e9
    made.guest.killed_at = at
    if at < 13:
        with pytest.raises(Killed):
            made.trial().after()
        done = [one for one in made.result().samples if one.arm == "after"]
        assert len(done) == at - 8
        shown = f"vnicaudit bench show {made.result().run.id} --state "
        assert made.told.said[-1].startswith(f"the measurement so far is stored: {shown}")
    made.guest.killed_at = 0
    assert made.trial().after() == ""
    after = [one for one in made.result().samples if one.arm == "after"]
    assert [one.block for one in after] == list(range(5))
    assert [one.order for one in made.result().samples] == list(range(10))
    assert made.result().run.finished is not None


def test_what_was_all_measured_is_not_measured_again(made: Made) -> None:
    """Killed between the last run and the verdict."""
    made.guest.level = 5e9
    killed_after_the_runs(made)
    assert made.trial(profile=WATCHED).after() == ""
    assert made.engine.runs == []
    assert len(made.result().samples) == 10


WATCHED = profile(runs=5, guards=("ping",))


class DyingGuard(Guard):
    """Ends the program when it is looked at the second time."""

    def after(self, ends: Ends, path: PathOf, before: str) -> RailCheck:
        if any(one.startswith("after") for one in self.asked):
            raise Killed
        return super().after(ends, path, before)


def killed_after_the_runs(made: Made) -> None:
    """At the second look at the guard rails; then all is new. The guest is as it will be."""
    level, made.guest.level = made.guest.level, 1e9
    made.trial(profile=WATCHED).before()
    made.guest.level, made.guard = level, DyingGuard()
    with pytest.raises(Killed):
        made.trial(profile=WATCHED).after()
    made.guard, made.engine = Guard(), Engine(made.guest.outcome)


def test_a_catastrophe_is_not_forgotten(made: Made) -> None:
    """Killed between the run that showed it and the verdict."""
    made.guest.level = 1e6
    killed_after_the_runs(made)
    assert "three times in a row less than half" in made.trial(profile=WATCHED).after()
    assert made.engine.runs == []


def test_what_was_given_up_is_not_tried_again(made: Made) -> None:
    trial = made.trial(profile=profile(TCP, RR, runs=3))
    trial.before()
    runs: list[str] = []

    def outcome(workload: Workload, _ends: Ends, _number: int) -> float | Measured:
        runs.append(workload.id)
        if len(runs) == 9:  # after that of warming up and most of two blocks, of four each
            raise Killed
        return Measured(error="refused") if workload.id == "rr" else 1e9

    made.engine.outcome = outcome
    with pytest.raises(Killed):
        made.trial(profile=profile(TCP, RR, runs=3)).after()
    made.trial(profile=profile(TCP, RR, runs=3)).after()
    tries = [
        one.block for one in made.result().samples if (one.workload, one.arm) == ("rr", "after")
    ]
    assert tries == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_half_a_line_was_never_measured(made: Made) -> None:
    made.trial().before()
    made.guest.killed_at = 10
    with pytest.raises(Killed):
        made.trial().after()
    (name,) = history.measurement_ids(made.folder / "state")
    with (made.folder / "state" / "bench" / name / "samples.jsonl").open("ab") as stream:
        stream.write(b'{"workload":"tcp","arm":"af')
    made.guest.killed_at = 0
    made.trial().after()
    assert len(made.result().samples) == 10


def test_what_cannot_be_measured_before_leaves_no_trace(made: Made) -> None:
    made.guest.killed_at, made.guest.error = 1, EndpointError("agent://web01: gone")
    with pytest.raises(EndpointError):
        made.trial().before()
    with pytest.raises(RefusedError) as error:
        made.trial().after()
    assert str(error.value) == f"{MAC} was not measured before it was changed"
    assert list(made.trial().measurements()) == []
    made.trial().note_outcome("refused", undone=True)


def test_a_measurement_that_is_gone(made: Made) -> None:
    made.trial().before()
    (kept,) = made.trial().measurements()
    (kept.folder / "head.json").unlink()
    with pytest.raises(UsageError, match=kept.id):
        made.trial().after()
    made.trial().note_outcome("failed", undone=True)
    assert made.told.said[-1].startswith("the result could not be recorded: ")
    assert kept.id in made.told.said[-1]


def test_what_runs_of_apply_have_measured(made: Made) -> None:
    trials = TrialFactory(made.order())
    (made.folder / "run").mkdir()
    world = World(made.folder)
    for key in ("a", "b"):
        trials(made.folder / "run", key, world, "u-u-i-d", (MAC,)).before()  # type: ignore[arg-type]
    assert [kept.id for kept in trials.measurements()] == history.measurement_ids(
        made.folder / "state"
    )
