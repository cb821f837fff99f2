"""Values set against the level of their time."""

import math
import random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench.judging.made import TCP, pair
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.sides import Side, bartels_ratio, levelled
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.model.measurement import Comparison, Design

NOISE = (0.01, -0.005, 0.0, 0.008, -0.01, 0.004, -0.002, 0.006, -0.007, 0.002)
"""Of runs, as parts."""


def series(*values: float, first: int = 0) -> Side:
    return Side("arm", values, tuple(range(first, first + len(values))))


def falling(worth: float, runs: int = 10) -> Side:
    """Loses 30 % meanwhile."""
    return series(
        *(worth * (1 - 0.03 * run) * (1 + NOISE[run % len(NOISE)]) for run in range(runs))
    )


def test_bartels_by_hand() -> None:
    """Steps of one, over squares of the distances from the mean: 4 / 10, of the ranks 1 to 5."""
    assert bartels_ratio([0.1, 0.2, 0.3, 0.4, 0.5]) == pytest.approx(0.4)
    assert bartels_ratio([7.0, 7.0, 7.0]) == 2.0


@pytest.mark.parametrize(("n", "share"), [(7, 0.14), (10, 0.09), (20, 0.03)])
def test_chance_seldom_looks_like_drift(n: int, share: float) -> None:
    """The shares that the module names."""
    source = random.Random(20261123)
    draws = [[source.random() for _ in range(n)] for _ in range(4000)]
    found = sum(bartels_ratio(draw) < 1.2 for draw in draws) / len(draws)
    assert found == pytest.approx(share, abs=0.02)


def test_what_drifts_is_set_against_its_time() -> None:
    before, after = falling(1e9), falling(0.9e9)
    found = levelled(before, after, by_difference=False)
    assert found is not None
    spread = [max(arm) / min(arm) for arm in found]
    assert max(spread) < 1.09
    assert max(before.values) / min(before.values) > 1.3
    for old, new in zip(before.values, found[0], strict=True):
        step = new / old
        other = (
            found[1][list(before.values).index(old)] / after.values[list(before.values).index(old)]
        )
        assert step == pytest.approx(other)


def test_loss_is_set_against_its_time_by_difference() -> None:
    before = series(*(0.1 * run for run in range(8)))
    after = series(*(0.1 * run + 1.0 for run in range(8)))
    found = levelled(before, after, by_difference=True)
    assert found is not None
    assert [b - a for a, b in zip(*found, strict=True)] == pytest.approx([1.0] * 8)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (series(1.0, 2.0, 3.0, 4.0), series(1.0, 2.0, 3.0, 4.0)),
        (series(), series()),
        (series(1, 2, 3, 4, 5, 6), series(1, 2, 3, 4, 5, 6, first=6)),
        (series(3, 1, 4, 1.5, 5, 2, 6, 1), series(3, 1, 4, 1.5, 5, 2, 6, 1)),
        (series(*[0.0] * 8), series(*[0.0] * 8)),
    ],
    ids=["few blocks", "nothing", "no block in common", "no drift", "carried nothing"],
)  # fmt: skip
def test_what_does_not_drift_stays_as_it_is(before: Side, after: Side) -> None:
    assert levelled(before, after, by_difference=False) is None


numbers = st.lists(st.floats(0.001, 1e12), min_size=6, max_size=12)


@given(numbers, numbers)
def test_which_arm_a_value_is_of_is_never_asked(one: list[float], other: list[float]) -> None:
    runs = min(len(one), len(other))
    first, second = series(*one[:runs]), series(*other[:runs])
    found = levelled(first, second, by_difference=False)
    turned = levelled(second, first, by_difference=False)
    assert turned == (found and found[::-1])


@given(numbers, numbers)
def test_a_run_that_carried_nothing_still_does_not(one: list[float], other: list[float]) -> None:
    found = levelled(series(*one, 0.0), series(*other, 0.0), by_difference=False)
    if found is not None:
        assert found[0][-1] == found[1][-1] == 0.0
        assert all(math.isfinite(value) for arm in found for value in arm)


def compared(before: Side, after: Side) -> Comparison:
    samples = pair(before.values, after.values)
    (found,) = compare(samples, [TCP], "before", "after", Terms(looks=(10,), alphas=(0.05,)))
    return found


SLOW_AND_STEADY = series(6632, 6752, 6641, 6820, 6831)
FAST_AND_JUMPY = series(8899, 9285, 21297, 21901, 11428)


def test_the_noise_of_one_arm_is_no_drift_of_the_other() -> None:
    """Seen on a real path: the level followed the jumpy arm, and 5,075 was shown of runs between
    6,632 and 6,831."""
    assert levelled(SLOW_AND_STEADY, FAST_AND_JUMPY, by_difference=False) is None
    row = compared(SLOW_AND_STEADY, FAST_AND_JUMPY)
    assert row.effect is not None
    assert row.effect.percent == pytest.approx(69.25, abs=0.01)


arms = st.lists(st.floats(0, 1e12), min_size=1, max_size=12)


@given(arms, arms, st.sampled_from(get_args(Design)), st.sampled_from(["goodput", "loss"]))
def test_centres_are_never_outside_the_runs_of_their_arm(
    before: list[float], after: list[float], design: Design, metric: str
) -> None:
    workload = replace(TCP, decides=(metric,))
    terms = Terms(looks=(5,), alphas=(0.05,), design=design)
    samples = pair(before, after, metric=metric)
    (found,) = compare(samples, [workload], "before", "after", terms)
    if found.effect is not None:
        assert found.effect.before is not None
        assert found.effect.after is not None
        assert min(before) <= found.effect.before <= max(before)
        assert min(after) <= found.effect.after <= max(after)


def test_a_drift_of_thirty_per_cent_hides_no_loss_of_ten() -> None:
    found = compared(falling(1e9), falling(0.9e9))
    assert found.verdict == "regressed"
    assert found.effect is not None
    assert found.effect.percent == pytest.approx(-10, abs=1)
    assert any(note.startswith("the runs drift") for note in found.notes)


def test_the_shown_centres_are_those_of_the_effect() -> None:
    found = compared(falling(1e9), falling(0.9e9))
    assert found.effect is not None
    assert found.effect.before is not None
    assert found.effect.after is not None
    assert 100 * (found.effect.after / found.effect.before - 1) == pytest.approx(
        found.effect.percent
    )
