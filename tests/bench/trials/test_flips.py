"""Changed and taken back again and again: how the guest is left, whatever happens."""

from itertools import groupby, pairwise
from pathlib import Path

import pytest

from tests.bench.judging.made import TCP, steady
from tests.bench.running.fakes import RR, Engine, Guard, Told, plugins, profile
from tests.bench.trials.places import Opening, order
from vnicaudit.bench import history
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.judging.stopping import Slot, turns
from vnicaudit.bench.trials.flips import FlippedNic as Which
from vnicaudit.bench.trials.flips import Flips
from vnicaudit.bench.trials.request import AFTER, BEFORE
from vnicaudit.errors import ActionError, EndpointError, JournalError
from vnicaudit.model.measurement import BenchResult, Design, Workload


class Guest:
    """What is flipped. ``worth``: of its network, in each arm; ``stuck``: cannot be brought there
    from its flip with that number on."""

    def __init__(self) -> None:
        self.now = "before"
        self.worth = {"before": 1e9, "after": 1e9}
        self.asked: list[str] = []
        self.stuck: dict[str, int] = {}
        self.fails_at = 0
        self.error: BaseException = KeyboardInterrupt()

    def to(self, arm: str) -> None:
        self.asked.append(arm)
        if len(self.asked) >= self.stuck.get(arm, 10**6):
            raise ActionError(f"it cannot be {arm}")
        self.now = arm

    def outcome(self, _workload: Workload, _ends: Ends, number: int) -> float:
        if number == self.fails_at:
            raise self.error
        return self.worth[self.now] * steady(1.0)[number % 10]


class Made:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.guest = Guest()
        self.told = Told()
        self.opening = Opening()
        self.engine = Engine(self.guest.outcome)
        self.guard = Guard()
        self.profile = profile(runs=5)

    def measure(self, design: Design = "flips", **more: object) -> BenchResult:
        asked = order(
            self.folder, self.profile, self.told,
            plugins=plugins(self.engine, self.guard), opening=self.opening, **more,
        )  # fmt: skip
        which = Which("qemu:///system", "u-u-i-d", "52:54:00:00:00:01")
        return Flips(asked, design, which).measure(self.guest)

    def kept(self) -> BenchResult:
        (only,) = history.measurement_ids(self.folder)
        return history.stored_measurement(self.folder, only).result()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.mark.parametrize(
    ("after", "verdict", "done", "now"),
    [
        (5e9, "improved", "kept", "after"),
        (7e8, "regressed", "rolled-back", "before"),
        (1.001e9, "equivalent", "rolled-back", "before"),
    ],
)
def test_the_guest_is_left_as_was_decided(
    made: Made, after: float, verdict: str, done: str, now: str
) -> None:
    made.guest.worth["after"] = after
    result = made.measure()
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.done) == (verdict, done)
    assert made.guest.now == now
    assert made.kept() == result
    assert [path.name for path in result.paths] == ["before", "after"]
    assert result.run.design == "flips"


def test_what_makes_no_difference_is_kept_where_that_was_asked_for(made: Made) -> None:
    result = made.measure(undecided="keep")
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.done) == ("equivalent", "kept")
    assert made.guest.now == "after"


def test_all_work_is_done_between_two_flips(made: Made) -> None:
    made.profile = profile(TCP, RR, runs=4)
    result = made.measure()
    slots = turns(("before", "after"), ("tcp", "rr"), 5, 7, 3)
    assert [(one.arm, one.workload, one.block) for one in result.samples] == [
        (slot.arm, slot.workload, slot.block) for slot in slots
    ]
    assert (result.run.looks, result.run.runs_per_turn) == ((2, 3, 5), 3)
    assert result.run.seed == 7


@pytest.mark.parametrize("design", ["flips", "boots"])
def test_every_visit_is_a_flip(made: Made, design: Design) -> None:
    """What counts as so many values are so many plugs, or boots: between two turns of an arm it is
    changed away and back."""
    made.profile = profile(TCP, RR)
    result = made.measure(design)
    asked = [before for before, after in pairwise(made.guest.asked) if before != after]
    order = [arm for arm, _slots in visits(5)]
    assert len(order) == 10
    again = [BEFORE if arm == AFTER else AFTER for arm, later in pairwise(order) if arm == later]
    assert again
    assert len(asked) == 9 + len(again) + (order[-1] == AFTER)  # it is left as before
    assert all(one != other for one, other in pairwise(asked))
    tcp = next(one for one in result.results if one.workload == "tcp")
    assert tcp.before is not None
    assert tcp.after is not None
    assert (tcp.before.n, tcp.after.n) == (5, 5)


def test_what_is_so_in_every_turn_is_said_once(made: Made) -> None:
    made.opening.remark = "cannot be locked"
    made.measure()
    assert len(made.opening.opened) > 2
    assert made.told.said.count("cannot be locked") == 1


def test_a_boot_is_a_sample(made: Made) -> None:
    result = made.measure("boots")
    assert result.run.design == "boots"


def test_a_catastrophe_stops_it_at_once(made: Made) -> None:
    made.guest.worth["after"] = 1e6
    made.profile = profile(runs=40)
    result = made.measure()
    assert len([one for one in result.samples if one.arm == "after"]) <= 4
    assert result.decision is not None
    assert result.decision.verdict == "regressed"
    assert made.guest.now == "before"


def test_a_broken_guard_rail_stops_it(made: Made) -> None:
    made.guard = Guard(broken=["after"])
    made.profile = profile(runs=40, guards=("ping",))
    made.guest.worth["after"] = 5e9
    result = made.measure()
    assert result.decision is not None
    assert result.decision.reasons[0] == "guard rail ping failed (after): lost"
    assert len(result.samples) < 10
    assert made.guest.now == "before"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), JournalError("full")])
@pytest.mark.parametrize("at", range(2, 12))
def test_it_is_as_before_where_it_was_interrupted(
    made: Made, at: int, error: BaseException
) -> None:
    made.guest.fails_at, made.guest.error = at, error
    with pytest.raises(type(error)) as raised:
        made.measure()
    assert raised.value is error
    assert made.guest.now == "before"
    result = made.kept()
    assert (result.run.finished, result.decision) == (None, None)
    (said,) = made.told.said
    words = f"the measurement so far is stored: vnicaudit bench show {result.run.id} --state "
    assert said.startswith(words)


def test_nothing_is_flipped_where_it_cannot_be_measured(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(*_: object) -> None:
        raise EndpointError("agent://u-u-i-d has no iperf3: install it")

    monkeypatch.setattr(made.opening, "require", lacks)
    with pytest.raises(EndpointError, match="has no iperf3"):
        made.measure()
    assert made.guest.asked == []


def test_tools_are_looked_for_in_both_arms_once(made: Made) -> None:
    made.measure()
    assert made.opening.required == 2


def test_a_flip_that_fails_is_taken_back(made: Made) -> None:
    made.guest.stuck = {"after": 1}
    with pytest.raises(ActionError, match=r"^it cannot be after$"):
        made.measure()
    assert made.guest.asked[-1] == "before"
    assert made.guest.now == "before"


def test_an_error_is_not_hidden_by_one_of_going_back(made: Made) -> None:
    made.guest.fails_at = 6
    made.guest.stuck = {"before": 3}
    with pytest.raises(KeyboardInterrupt):
        made.measure()
    assert "the guest is not as it was before: it cannot be before" in made.told.said


def test_what_could_not_be_taken_back_is_noted(made: Made) -> None:
    made.guest.worth["after"] = 7e8
    made.guest.stuck = {"before": asked_for(3) + 1}
    with pytest.raises(ActionError, match=r"^it cannot be before$"):
        made.measure()
    decision = made.kept().decision
    assert decision is not None
    assert (decision.action, decision.done) == ("roll-back", "not-rolled-back")


def test_what_could_not_be_kept_is_taken_back(made: Made) -> None:
    made.guest.worth["after"] = 5e9
    made.guest.stuck = {"after": asked_for(2) + 1}
    with pytest.raises(ActionError, match=r"^it cannot be after$"):
        made.measure()
    assert made.guest.asked[-2:] == ["after", "before"]
    decision = made.kept().decision
    assert decision is not None
    assert (decision.action, decision.done) == ("keep", None)


def visits(number: int) -> list[tuple[str, list[Slot]]]:
    """So many turns of each arm."""
    slots = turns((BEFORE, AFTER), ("tcp",), number, 7)
    found = groupby(slots, lambda slot: (slot.arm, slot.block))
    return [(arm, list(run)) for (arm, _turn), run in found]


def asked_for(number: int) -> int:
    """How often the guest is asked to be in some arm, for so many turns of each."""
    order = [arm for arm, _slots in visits(number)]
    return len(order) + sum(one == other for one, other in pairwise(order))
