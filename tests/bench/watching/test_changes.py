"""Change points: what is told, when, and what is not."""

from __future__ import annotations

import random

import pytest

from tests.bench.watching.made import HOUR, START
from vnicaudit.bench.judging.statistics import mann_whitney
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.watching.changes import (
    ALPHA,
    PERMUTATIONS,
    SeriesJudgement,
    SeriesPoint,
    _best_split,
    judge_series,
    p_of,
)

GOODPUT = METRICS["goodput"]


def series(levels: list[float], noise: float = 0.02, seed: int = 3) -> list[SeriesPoint]:
    source = random.Random(seed)
    return [
        SeriesPoint(START + place * HOUR, level * (1 + source.gauss(0, noise)))
        for place, level in enumerate(levels)
    ]


def told(levels: list[float], metric: str = "goodput", noise: float = 0.02) -> SeriesJudgement:
    return judge_series(series(levels, noise), METRICS[metric], 100 * METRICS[metric].margin)


def test_a_loss_is_told_once_with_its_time_and_size() -> None:
    found = told([1e9] * 120 + [8e8] * 200)
    (change,) = found.changes
    assert abs(change.since - (START + 120 * HOUR)) <= 2 * HOUR
    assert change.since < change.confirmed <= change.since + 24 * HOUR
    assert change.worse
    assert change.percent == pytest.approx(-20, abs=1)
    assert change.low < change.percent < change.high < -15
    assert change.p <= ALPHA
    assert change.basis == "runs"
    assert change.after / change.before == pytest.approx(0.8, abs=0.01)
    assert found.centre == pytest.approx(8e8, rel=0.01)


def test_more_latency_is_worse_and_a_recovery_is_another_change() -> None:
    found = told([100.0] * 96 + [150.0] * 96 + [100.0] * 96, "latency_p50")
    assert [one.worse for one in found.changes] == [True, False]


def test_less_than_the_margin_is_no_change() -> None:
    assert told([1e9] * 150 + [9.7e8] * 150, noise=0.005).changes == ()


def test_looking_after_every_run_tells_nothing_more() -> None:
    """What is confirmed is confirmed at the same look, however often it is asked before."""
    readings = series([1e9] * 100 + [8.5e8] * 60)
    whole = judge_series(readings, GOODPUT, 5.0).changes
    first = next(
        n for n in range(len(readings) + 1) if judge_series(readings[:n], GOODPUT, 5.0).changes
    )
    assert judge_series(readings[:first], GOODPUT, 5.0).changes == whole[:1]
    assert readings[first - 1].time == whole[0].confirmed


def test_few_runs_are_not_judged() -> None:
    assert judge_series([], GOODPUT, 5.0) == SeriesJudgement((), None, 0, drifts=False)
    assert told([1e9] * 8 + [1e8] * 8).changes == ()


def test_equal_values_and_dead_runs() -> None:
    assert told([1e9] * 200, noise=0.0).changes == ()
    (change,) = told([1e9] * 100 + [0.0] * 40).changes
    assert change.percent == pytest.approx(-100)


def test_the_statistic_is_that_of_mann_and_whitney() -> None:
    """The best of all splits has the smallest p of the exact test, in a series of one jump."""
    values = [5.0, 6.0, 4.0, 7.0, 5.5, 6.5, 1.0, 2.0, 3.0, 1.5, 2.5]
    ranks = [2 * sorted(values).index(one) for one in values]
    split = _best_split(ranks)
    exact = {cut: mann_whitney(values[:cut], values[cut:]) for cut in range(5, 7)}
    assert split.place == min(exact, key=lambda cut: exact[cut]) == 6
    assert split.z == pytest.approx(15 / (6 * 5 * 12 / 12) ** 0.5)


def test_p_is_uniform_where_nothing_changed() -> None:
    source, n, small = random.Random(5), 40, 0
    for _ in range(400):
        ranks = list(range(0, 2 * n, 2))
        source.shuffle(ranks)
        small += p_of(_best_split(ranks).z, n) <= 0.05
    assert 8 <= small <= 35
    assert p_of(9.0, n) == 1 / (1 + PERMUTATIONS)
