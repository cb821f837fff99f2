"""How many runs, and how long: guessed, then as it was seen."""

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import RR, profile
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.running.forecast import Forecast, VisitPlan, visit_plan_of
from vnicaudit.model.measurement import Design, Sample

USUAL = 1.5 + 2.0 + 10.0
"""Seconds of a run of TCP: set-up, warm-up, load."""
WITNESS = 3.0
"""What is asked after the first run of each arm."""


def made(*slots: Slot, seconds: float = 30.0) -> list[Sample]:
    """Samples of these slots, one every so many seconds."""
    return [
        Sample(
            workload=slot.workload, arm=slot.arm, block=slot.block, order=order,
            started=f"2026-11-21T10:{int(order * seconds) // 60:02}:{order * seconds % 60:02.0f}Z",
        )
        for order, slot in enumerate(slots)
    ]  # fmt: skip


def slot(block: int, arm: str = "before", workload: str = TCP.id) -> Slot:
    return Slot(block, 0, arm, workload)


@pytest.mark.parametrize(
    ("design", "schedule"),
    [
        ("single", VisitPlan(2, (5,))),
        ("paths", VisitPlan(2, (5, 10))),
        ("live-flip", VisitPlan(2, (5, 10))),
        ("single-flip", VisitPlan(2, (10,), 2, 20.0)),
        ("flips", VisitPlan(2, (5, 10), 20, 20.0)),
        ("boots", VisitPlan(2, (5, 10), 20, 60.0)),
    ],
)
def test_designs(design: Design, schedule: VisitPlan) -> None:
    assert visit_plan_of(design, 2, (5, 10)) == schedule


def test_one_change_may_be_a_power_cycle() -> None:
    assert visit_plan_of("single-flip", 2, (5,), restarts=True) == VisitPlan(2, (5,), 2, 60.0)


def test_a_first_guess_is_the_profile_s() -> None:
    ahead = Forecast(profile(runs=5), VisitPlan(2, (5,))).ahead([], slot(0))
    assert (ahead.number, ahead.most) == (1, 10)
    assert ahead.remaining == ahead.soonest == pytest.approx(10 * USUAL * 1.05 + 2 * WITNESS)


def test_a_slow_guest_is_known_by_its_warm_up() -> None:
    """A tool that takes 20 s to start the first time takes three quarters of that later."""
    forecast = Forecast(profile(TCP, RR, runs=5), VisitPlan(1, (5,)))
    forecast.warmed_up(replace(TCP, seconds=3.0), 1.5 + 2.0 + 3.0 + 20.0)
    usual = sum(1.5 + one.warmup + one.seconds + 15.0 for one in (TCP, RR))
    assert forecast.ahead([], slot(0)).remaining == pytest.approx(5 * usual * 1.05 + WITNESS)


def test_it_is_corrected_by_what_runs_take_repeats_included() -> None:
    forecast = Forecast(profile(runs=4), VisitPlan(1, (4,)))
    forecast.took(TCP.id, 30.0)
    assert forecast.ahead(made(slot(0)), slot(1)).remaining == pytest.approx(3 * 30.0)
    forecast.took(TCP.id, 30.0)
    forecast.took(TCP.id, 20.0, again=True)
    assert forecast.ahead(made(slot(0), slot(1)), slot(2)).remaining == pytest.approx(2 * 40.0)


def test_a_workload_that_was_not_run_yet_is_as_much_slower_as_the_others() -> None:
    forecast = Forecast(profile(TCP, RR, runs=1), VisitPlan(1, (1,)))
    forecast.took(TCP.id, USUAL + 7.0)
    left = forecast.ahead(made(slot(0)), slot(0, workload=RR.id)).remaining
    assert left == pytest.approx(1.5 + RR.warmup + RR.seconds + 7.0)


def test_a_run_that_is_repeated_keeps_its_number() -> None:
    forecast = Forecast(profile(runs=3), VisitPlan(1, (3,)))
    assert forecast.ahead(made(slot(0), slot(1)), slot(1)).number == 2


def test_the_next_look_may_be_the_end() -> None:
    forecast = Forecast(profile(runs=5), VisitPlan(2, (5, 10)))
    forecast.took(TCP.id, 10.0)
    ahead = forecast.ahead(made(slot(0)), slot(0, "after"))
    assert [ahead.soonest, ahead.remaining] == pytest.approx([90.0 + WITNESS, 190.0 + WITNESS])
    five = [slot(block, arm) for block in range(5) for arm in ("before", "after")]
    assert forecast.ahead(made(*five), slot(5)).soonest == pytest.approx(100.0)


def test_changes_count_until_they_are_seen_and_then_as_they_were() -> None:
    """Two runs of each arm, a change before each: a power cycle is 60 s, and half of what the
    first preparation took."""
    forecast = Forecast(profile(runs=2), VisitPlan(2, (2,), 4, 60.0))
    forecast.prepared(10.0)
    forecast.took(TCP.id, 20.0)
    assert forecast.ahead([], slot(0)).remaining == pytest.approx(
        4 * 20 + 3 * 65 + 4 * 1 + 2 * WITNESS
    )
    forecast.prepared(100.0)
    left = forecast.ahead(made(slot(0)), slot(0, "after")).remaining
    assert left == pytest.approx(3 * 20 + 2 * 100 + 3 * 1 + WITNESS)


def test_behind_the_only_change_there_is_none_left() -> None:
    before = [slot(block) for block in range(2)]
    forecast = Forecast(profile(runs=2), visit_plan_of("single-flip", 2, (2,)), made(*before))
    ahead = forecast.ahead(made(*before), slot(0, "after"))
    assert (ahead.number, ahead.most) == (3, 4)
    assert ahead.remaining == pytest.approx(2 * 30.0 + WITNESS), (
        "as the runs before took, by their times"
    )
