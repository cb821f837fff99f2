"""What runs and turns of the same thing differ by."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from vnicaudit.bench.judging.scatter import scatter_of


def drawn(seed: int, *, turns: float, runs: float, count: int = 400) -> list[list[list[float]]]:
    """Arms of three turns of three runs, of these standard deviations, each arm on a level of its
    own: a change is no scatter."""
    source = random.Random(seed)
    return [
        [
            [level + luck + source.gauss(0, runs) for _ in range(3)]
            for luck in (source.gauss(0, turns) for _ in range(3))
        ]
        for level in (source.uniform(0, 5) for _ in range(count))
    ]


@pytest.mark.parametrize(("turns", "runs"), [(0.03, 0.05), (0.08, 0.02), (0.05, 0.05)])
def test_both_are_found_apart(turns: float, runs: float) -> None:
    found = scatter_of(drawn(1, turns=turns, runs=runs))
    assert found is not None
    assert found.turns is not None
    assert (found.run_freedom, found.turn_freedom) == (400 * 6, 400 * 2)
    assert found.runs == pytest.approx(runs, rel=0.06)
    assert found.turns == pytest.approx(turns, rel=0.1)
    assert found.of_turn(3) == pytest.approx(math.hypot(turns, runs / math.sqrt(3)), rel=0.06)


def test_it_is_the_pooled_variance() -> None:
    arm = [[1.0, 1.2, 1.1], [1.5, 1.7]]
    found = scatter_of([arm])
    assert found is not None
    within = (2 * statistics.variance(arm[0]) + statistics.variance(arm[1])) / 3
    means = statistics.variance([statistics.fmean(turn) for turn in arm])
    assert found.runs == pytest.approx(math.sqrt(within))
    assert found.turns == pytest.approx(math.sqrt(means - within * (1 / 3 + 1 / 2) / 2))
    assert (found.run_freedom, found.turn_freedom, found.ratio) == (3, 1, None)


def test_turns_that_differ_by_less_than_their_runs_explain() -> None:
    found = scatter_of([[[0.0, 1.0], [1.0, 0.0]]])
    assert found is not None
    assert found.turns == 0.0


def test_runs_side_by_side_tell_nothing_of_turns() -> None:
    found = scatter_of([[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]])
    assert found is not None
    assert (found.turns, found.turn_freedom) == (None, 0)
    assert found.of_turn(4) == found.runs / 2
    assert found.resembles
    source = random.Random(1)
    mixed = scatter_of([[[source.random() for _ in range(20)]] for _ in range(9)])
    assert mixed is not None
    assert not mixed.resembles


@pytest.mark.parametrize("arms", [[], [[]], [[[]]], [[[1.0], [2.0]], [[3.0]]]])
def test_where_it_cannot_be_told(arms: list[list[list[float]]]) -> None:
    assert scatter_of(arms) is None
