"""When the level of a series changed: change points, confirmed at fixed looks.

At a look, each way to split the series in two with five values or more on either side has its
Mann-Whitney statistic, standardised; the largest of them is the candidate. Its p is that of the
largest in series of the same length in random order (:data:`SEED`, :data:`PERMUTATIONS`), so that
choosing the split is accounted for. Only ranks decide, so one such table serves every series; with
equal values it is too cautious rather than too bold.

Runs that resemble their neighbours (Bartels' ratio of the residuals: a cycle of the day, a slow
wave) are not exchangeable. Then days are compared: spans of 24 hours, counted back from the look,
each with the median of its runs. If days resemble each other too, the series *drifts*, and no
moment of a change can be named.

A change counts if Hodges and Lehmann's estimate of the ratio is the metric's margin or more, and is
confirmed if the look after the one that found it finds it too. Looks come every six hours, whatever
the period of the runs: looking more often does not show more.

Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979).
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.drift import bartels_ratio
from vnicaudit.bench.judging.effect import centres_of, percent, shift_of
from vnicaudit.bench.judging.statistics import doubled_ranks, median
from vnicaudit.bench.metrics import Metric

SEED = 20261126
"""Seed of the permutations: the same series gives the same answer at every look and everywhere."""
PERMUTATIONS = 1999
ALPHA = 0.002
"""Maximum p at each look."""
FEWEST = 5
"""Values on either side of a change."""
FEWEST_RUNS = 20
"""Runs before a series is judged for the first time."""
FEWEST_DAYS = 2 * FEWEST
HOUR, DAY = 3600.0, 86400.0
LOOK = 6 * HOUR
RECENT = 7 * DAY
"""Age up to which runs are examined; days up to :data:`FAR`."""
FAR = 28 * DAY
MOST_RUNS = 168
"""Maximum number of examined runs, the latest ones: a week of hourly runs."""
_LEAST_SPAN = 2 * DAY
_RUNS_OF_DAY = 3
_STEP = 1.06
_ONE_SIDED = 1.645
_LEVEL = 0.05

Basis = Literal["runs", "days"]


class SeriesPoint(NamedTuple):
    """One run of a series. ``time``: Unix time; ``value``: in the metric's unit."""

    time: float
    value: float


class ChangePoint(NamedTuple):
    """``since``: the first run after it, ``confirmed``: the look that confirmed it, both Unix time.
    ``percent``: positive is better; ``low``, ``high``: interval at 95 %, given that moment. ``p``:
    of the look that confirmed it. ``basis``: the kind of values compared."""

    since: float
    confirmed: float
    before: float
    after: float
    percent: float
    low: float
    high: float
    p: float
    basis: Basis

    @property
    def worse(self) -> bool:
        """True for a loss."""
        return self.percent < 0


class SeriesJudgement(NamedTuple):
    """The judgement on a series so far. ``centre``: median of the last week's runs since the last
    change; None without runs. ``runs_judged``: runs at the newest look, 0: there was none.
    ``drifts``: days resemble each other, so no moment can be named."""

    changes: tuple[ChangePoint, ...]
    centre: float | None
    runs_judged: int
    drifts: bool


class _LookResult(NamedTuple):
    """The result of a look. ``change`` None: there is none. ``runs``: number of judged runs, 0: too
    few."""

    change: ChangePoint | None
    drifts: bool = False
    runs: int = 0


class _Split(NamedTuple):
    place: int
    z: float


def judge_series(readings: Sequence[SeriesPoint], metric: Metric, margin: float) -> SeriesJudgement:
    """The changes of a series in order of time, each once. ``margin``: per cent, or points of a
    share."""
    changes: list[ChangePoint] = []
    begin, last = 0, _LookResult(None)
    for end in _looks(readings):
        begin = max(begin, _first_since(readings, readings[end].time - FAR, begin))
        series = readings[begin : end + 1]
        now = _look(series, metric, margin)
        if now.change is not None and _agree(last.change, now.change):
            changes.append(now.change)
            begin = _first_since(readings, now.change.since, begin)
            now = _LookResult(None)
        last = now
    return SeriesJudgement(tuple(changes), _centre(readings[begin:]), last.runs, last.drifts)


def _looks(readings: Sequence[SeriesPoint]) -> Iterator[int]:
    """Indexes of the runs that are the first in a span of six hours, in universal time."""
    for place, (before, after) in enumerate(pairwise(readings), start=1):
        if after.time // LOOK != before.time // LOOK:
            yield place


def _first_since(readings: Sequence[SeriesPoint], time: float, begin: int) -> int:
    return next((i for i in range(begin, len(readings)) if readings[i].time >= time), begin)


def _agree(earlier: ChangePoint | None, later: ChangePoint) -> bool:
    """True if both looks found the same change: in the same direction, at the same time within a
    look."""
    if earlier is None or earlier.worse != later.worse:
        return False
    near = LOOK if later.basis == "runs" and earlier.basis == "runs" else DAY
    return abs(earlier.since - later.since) <= near


def _centre(readings: Sequence[SeriesPoint]) -> float | None:
    if not readings:
        return None
    return median([one.value for one in readings if one.time > readings[-1].time - RECENT])


def _look(series: Sequence[SeriesPoint], metric: Metric, margin: float) -> _LookResult:
    """The change in the series up to its last run."""
    runs = [one for one in series[-MOST_RUNS:] if one.time > series[-1].time - RECENT]
    if len(runs) < FEWEST_RUNS or runs[-1].time - runs[0].time < _LEAST_SPAN:
        return _LookResult(None)
    runs = runs[-_grid(len(runs)) :]
    split = _split(runs)
    if not _resemble(runs, split):
        change = _change(runs, split, metric, margin, "runs", series[-1].time)
        return _LookResult(change, runs=len(runs))
    days = list(_days(series))
    if len(days) < FEWEST_DAYS:
        return _LookResult(None)
    split = _split(days)
    if _resemble(days, split):
        return _LookResult(None, drifts=True, runs=len(series))
    change = _change(days, split, metric, margin, "days", series[-1].time)
    return _LookResult(change, runs=len(series))


def _days(series: Sequence[SeriesPoint]) -> Iterator[SeriesPoint]:
    """Spans of 24 hours that end with the last run: start, and the median of their runs."""
    found: defaultdict[int, list[SeriesPoint]] = defaultdict(list)
    for one in series:
        found[math.floor((series[-1].time - one.time) / DAY)].append(one)
    for ago in sorted(found, reverse=True):
        if len(found[ago]) >= _RUNS_OF_DAY:
            yield SeriesPoint(found[ago][0].time, median([one.value for one in found[ago]]))


def _split(series: Sequence[SeriesPoint]) -> _Split:
    """The split that divides the values best."""
    return _best_split(doubled_ranks([one.value for one in series]))


def _best_split(ranks: Sequence[int]) -> _Split:
    spreads = _spreads(len(ranks))
    mean = len(ranks) - 1
    sums = list(accumulate(ranks))
    best, place = 0.0, FEWEST
    for cut in range(FEWEST, len(ranks) - FEWEST + 1):
        z = abs(sums[cut - 1] - cut * mean) / spreads[cut]
        if z > best:
            best, place = z, cut
    return _Split(place, best)


@lru_cache(maxsize=256)
def _spreads(n: int) -> tuple[float, ...]:
    """Standard deviations of the sum of the first doubled ranks in random order, without ties."""
    return tuple(math.sqrt(cut * (n - cut) * (n + 1) / 3) for cut in range(n + 1))


def _resemble(series: Sequence[SeriesPoint], split: _Split) -> bool:
    """True if runs resemble their neighbours more than chance would in one case of twenty, with
    each side shifted to one level."""
    residuals: list[float] = []
    for side in (series[: split.place], series[split.place :]):
        values = [one.value for one in side]
        centre = median(values)
        residuals += [value - centre for value in values]
    return bartels_ratio(residuals) < 2 - 2 * _ONE_SIDED / math.sqrt(len(residuals))


def _change(
    series: Sequence[SeriesPoint],
    split: _Split,
    metric: Metric,
    margin: float,
    basis: Basis,
    now: float,
) -> ChangePoint | None:
    """The change at that split, if it is beyond chance and large enough."""
    p = p_of(split.z, len(series))
    if p > ALPHA:
        return None
    before, after = ([one.value for one in side]
                     for side in (series[: split.place], series[split.place :]))  # fmt: skip
    shift = shift_of(metric, before, after, "paths")
    interval = None if shift is None else shift.interval(_LEVEL)
    if shift is None or interval is None or abs(percent(metric, shift.estimate)) < margin:
        return None
    low, high = sorted(percent(metric, end) for end in interval)
    centres = centres_of(metric, before, after, shift)
    effect = percent(metric, shift.estimate)
    since = series[split.place].time
    return ChangePoint(since, now, centres.before, centres.after, effect, low, high, p, basis)


def p_of(z: float, n: int) -> float:
    """How often the best split of ``n`` values in random order is at least that good."""
    if z < _LEAST_Z:
        return 1.0
    return (1 + sum(one >= z for one in _largest(n))) / (1 + PERMUTATIONS)


_LEAST_Z = 2.5
"""Below it no p is :data:`ALPHA` or less, however long the series, so no table is needed."""


@lru_cache(maxsize=256)
def _largest(n: int) -> tuple[float, ...]:
    source = random.Random(SEED + n)  # noqa: S311, an order is no secret
    ranks = [2 * rank for rank in range(n)]
    found = []
    for _ in range(PERMUTATIONS):
        source.shuffle(ranks)
        found.append(_best_split(ranks).z)
    return tuple(found)


@lru_cache(maxsize=512)
def _grid(n: int) -> int:
    """Number of the ``n`` runs that are examined: restricted to few lengths, so that few tables
    have to be made."""
    length = FEWEST_RUNS
    while (further := max(length + 1, math.floor(length * _STEP))) <= n:
        length = further
    return length
