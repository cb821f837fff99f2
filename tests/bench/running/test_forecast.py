"""How many runs, and how long: guessed, then by the pace that was seen."""

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP, sample
from tests.bench.running.fakes import RR, profile
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.running.forecast import Ahead, Forecast
from vnicaudit.model.measurement import Design

USUAL = 1.5 + 2.0 + 10.0
"""Seconds of a run of TCP: set-up, warm-up, load."""
WITNESS = 2 * 3.0
"""What is asked after the first run of each arm."""
FIRST = Slot(0, 0, "before", TCP.id)


def forecast(design: Design, *looks: int) -> Forecast:
    terms = Terms(
        looks=looks, alphas=(0.01,) * len(looks), design=design,
        runs_per_turn=3 if design in ("flips", "boots") else 1,
    )  # fmt: skip
    return Forecast(profile(runs=looks[-1]), terms, 2)


@pytest.mark.parametrize(
    ("design", "most", "change"),
    [
        ("single", 10, 0.0),
        ("paths", 20, 0.0),
        ("live-flip", 20, 0.0),
        ("single-flip", 20, 90.0 / 20),
        ("flips", 60, 30.0 / 3),
        ("boots", 60, 90.0 / 3),
    ],
)
def test_first_guess_is_the_profile_s_with_the_changes_of_the_design(
    design: Design, most: int, change: float
) -> None:
    ahead = forecast(design, 5, 10).ahead([], FIRST)
    assert (ahead.number, ahead.most) == (1, most)
    assert ahead.remaining == pytest.approx(most * (USUAL + change) * 1.05 + WITNESS)
    earliest = most if design in ("single", "single-flip") else most / 2
    assert ahead.soonest == pytest.approx(earliest * (USUAL + change) * 1.05 + WITNESS)


def test_a_machine_on_which_tools_start_slowly_is_known_by_its_warm_up() -> None:
    one = forecast("live-flip", 5)
    one.warmed_up(replace(TCP, seconds=3.0), 1.5 + 2.0 + 3.0 + 2.5)
    assert one.ahead([], FIRST).remaining == pytest.approx(10 * (USUAL + 2.5) * 1.05 + WITNESS)
    one.took(FIRST, USUAL + 2.0)
    left = one.ahead([sample(1e9, "before", 0)], Slot(0, 1, "after", TCP.id)).remaining
    assert left == pytest.approx(9 * (USUAL + 2.0)), "then by the pace that is seen"


def test_it_is_corrected_by_the_pace_of_the_runs_repeats_included() -> None:
    one = forecast("live-flip", 5, 10)
    made = [sample(1e9, "before", 0)]
    one.took(FIRST, 2 * USUAL)
    assert one.ahead(made, Slot(0, 1, "after", TCP.id)) == Ahead(
        2, 20, 19 * 2 * USUAL, 9 * 2 * USUAL
    )
    one.took(FIRST, 3 * USUAL)
    assert one.ahead(made, FIRST) == Ahead(1, 20, 20 * 3 * USUAL, 10 * 3 * USUAL)


def test_workloads_that_were_not_run_yet_go_at_the_pace_of_the_others() -> None:
    terms = Terms(looks=(1,), alphas=(0.05,), design="single")
    one = Forecast(profile(TCP, RR, runs=1), terms, 1)
    one.took(FIRST, 2 * USUAL)
    left = one.ahead([sample(1e9)], Slot(0, 1, "before", RR.id)).remaining
    assert left == pytest.approx(2 * (USUAL + 1.5 + RR.warmup + RR.seconds) / 2)
