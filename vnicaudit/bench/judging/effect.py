"""The effect of a change on one metric: logarithms, per cent, and which direction is better.

Ratios matter, so values are compared by their logarithms, and the effect is the change of the value
in per cent; its sign is reversed if lower is better. A metric that is a share already (loss, in per
cent) is compared by difference: its effect is in percentage points. A loss of 0 is common, and
0.2 % instead of 0.1 % is not "twice as bad".

The shift between two samples: estimate, intervals, p.

If the arms alternate, ranks are used. Hodges and Lehmann, "Estimates of location based on rank
tests", Annals of Mathematical Statistics 34 (1963): the median of all differences between a value
of the one and a value of the other. The interval is the same test inverted: the differences that it
would not reject.

If the change is made and undone in few turns (two to four of each arm; a boot or a plug each), they
are too few for ranks. Then the interval is Student's, and never narrower than the known differences
between turns of the same thing:

    the wider of   t * s * sqrt(1/n + 1/m)   and   z * s_0 * sqrt(1/n + 1/m)

``s``: standard deviation of turns within the arms, pooled; ``t`` has n + m - 2 degrees of freedom.
``s_0``: 0.15 with two or three turns of an arm, since so few can be alike by chance (if boots fall
on two levels, three against three do so once in thirty-two times); 0.08 with four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple, Protocol

from vnicaudit.bench.judging.statistics import (
    Interval,
    critical_rank,
    is_exact,
    mann_whitney,
    median,
)
from vnicaudit.bench.metrics import Metric
from vnicaudit.model.measurement import Design, Effect

Test = Literal["mann-whitney-exact", "mann-whitney-normal", "turns-t"]


class Shift(Protocol):
    """By how much the values after lie above those before, on their own scale. ``centre``: the
    level of those before that the estimate starts from; never outside of them, and neither is the
    sum of both outside of the values after."""

    test: Test
    estimate: float
    centre: float
    p: float
    """Two-sided p of no shift."""

    def interval(self, level: float) -> Interval | None:
        """An interval that misses the true shift with a probability of at most ``level``; None: too
        few values."""


class RankShift:
    """The shift by ranks. Assumes no distribution of the values.

    With ties the interval is too wide rather than too narrow: its level is that of untied ranks,
    and a closed interval then covers at least as often. So it can still touch 0 if p, which is
    exact with ties too, is already below the level.
    """

    def __init__(self, before: Sequence[float], after: Sequence[float]) -> None:
        self._n, self._m = len(before), len(after)
        self.test: Test = (
            "mann-whitney-exact" if is_exact(self._n, self._m) else "mann-whitney-normal"
        )
        self._differences = sorted(b - a for a in before for b in after)
        self.estimate = median(self._differences)
        self.centre = median([*before, *(value - self.estimate for value in after)])
        self.p = mann_whitney(before, after)

    def interval(self, level: float) -> Interval | None:
        """An interval that is exact for the median difference if the test is: coverage is 1 -
        ``level`` or a little more."""
        rank = critical_rank(self._n, self._m, level)
        if not rank:
            return None
        return Interval(self._differences[rank - 1], self._differences[-rank])


FEW_TURNS = 4
"""Up to that many turns of an arm are too few for ranks: the smallest p of 4 and 4 is 0.029."""

_NORMAL = NormalDist()


def between_turns(turns: int) -> float:
    """The least assumed standard deviation between turns, of logarithms."""
    return 0.15 if turns < FEW_TURNS else 0.08


class TurnShift:
    """The shift of a change that was made and undone in few turns; at least two in each arm.
    ``least``: the least assumed standard deviation between turns."""

    test: Test = "turns-t"

    def __init__(self, before: Sequence[float], after: Sequence[float], least: float) -> None:
        n, m = len(before), len(after)
        self._freedom = n + m - 2
        self.centre = _mean(before)
        self.estimate = _mean(after) - self.centre
        seen = (_squares(before) + _squares(after)) / self._freedom
        share = 1 / n + 1 / m
        self._seen, self._assumed = math.sqrt(seen * share), least * math.sqrt(share)
        self.p = max(self._p_seen(), 2 * _NORMAL.cdf(-abs(self.estimate) / self._assumed))

    def _p_seen(self) -> float:
        if not self._seen:
            return 0.0
        return 2 * t_cdf(-abs(self.estimate / self._seen), self._freedom)

    def interval(self, level: float) -> Interval | None:
        """The estimate ± the wider reach."""
        share = 1 - level / 2
        seen = t_quantile(share, self._freedom) * self._seen
        reach = max(seen, _NORMAL.inv_cdf(share) * self._assumed)
        return Interval(self.estimate - reach, self.estimate + reach)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(value / len(values) for value in values)


def _squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def t_cdf(t: float, freedom: int) -> float:
    """Share of Student's distribution below ``t`` (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle, is_odd = math.atan2(t, math.sqrt(freedom)), freedom % 2
    term, total = math.cos(angle) if is_odd else 1.0, 0.0
    for power in range(is_odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    within = math.sin(angle) * total
    if is_odd:
        within = 2 / math.pi * (angle + within)
    return (1 + within) / 2


@lru_cache(maxsize=256)
def t_quantile(share: float, freedom: int) -> float:
    """The value below which ``share`` (above 0, below 1) of Student's distribution lies."""
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < share:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        half = (low + high) / 2
        low, high = (half, high) if t_cdf(half, freedom) < share else (low, half)
    return high


LARGEST = 1e100
"""Values beyond that, positive or negative, are not measurements."""

SHARE_MARGIN = 0.5
"""Percentage points by which a share must be worse (or better) to count: the loss that the search
for the highest rate allows."""

_SHARE_SCALE = SHARE_MARGIN / 0.05
"""Assumed difference between boots or turns in percentage points: the same part of the margin as
for throughput."""

TURNS: frozenset[Design] = frozenset({"flips", "boots"})
"""The change is made and undone in turns."""

_DEAD = math.log(1e-9)
_LARGEST_LOG = 690.0


class Deciding(NamedTuple):
    """The estimate, p and intervals on which a verdict rests. ``is_there``: p is at most alpha, so
    there is a difference; ``outer``, ``inner``: the intervals at the level alpha, for the report,
    and at twice that (two one-sided tests at alpha: no harm, equivalence)."""

    estimate: float
    is_there: bool
    outer: Interval
    inner: Interval


def margin_of(metric: Metric, margins: Mapping[str, float]) -> float:
    """How much worse, or better, the metric must be to count: per cent, or percentage points.
    ``margins``: shares that override the metric's own."""
    if metric.name in margins:
        return 100 * margins[metric.name]
    return SHARE_MARGIN if is_share(metric) else 100 * metric.margin


def is_share(metric: Metric) -> bool:
    """True if the metric is compared by difference, in percentage points."""
    return metric.unit == "%"


def is_usable(value: float) -> bool:
    """True if a value can have been measured: finite, and not beyond :data:`LARGEST`."""
    return math.isfinite(value) and abs(value) <= LARGEST


def shift_of(
    metric: Metric,
    before: Sequence[float],
    after: Sequence[float],
    design: Design,
) -> Shift | None:
    """The shift on the metric's scale, of usable values; None if there are too few. With ``flips``
    and ``boots``, a value is a turn."""
    fewest = min(len(before), len(after))
    if not fewest:
        return None
    scale = _SHARE_SCALE if is_share(metric) else 1.0
    if not is_share(metric):
        before, after = _logs(before, after)
    if design in TURNS and fewest <= FEW_TURNS:
        few = fewest < 2
        return None if few else TurnShift(before, after, scale * between_turns(fewest))
    return RankShift(before, after)


def _logs(before: Sequence[float], after: Sequence[float]) -> tuple[list[float], list[float]]:
    """Logarithms of both arms. A run that carried nothing has none: it counts as a billionth of the
    lowest value of any run, which makes an effect of -100 %."""
    alive = [math.log(value) for value in (*before, *after) if value > 0]
    dead = min(alive, default=0.0) + _DEAD
    first, second = (
        [math.log(value) if value > 0 else dead for value in arm] for arm in (before, after)
    )
    return first, second


def effect_of(
    metric: Metric, shift: Shift, arms: tuple[Sequence[float], Sequence[float]] | None = None
) -> Effect | None:
    """Return the effect for the report, with its interval at 95 %, and the centres of the values
    of both ``arms``; None if there are too few values for one. ``p_holm`` is as if this
    were the only comparison."""
    before, after = _centres(metric, arms, shift) if arms else (None, None)
    interval = shift.interval(0.05)
    if interval is None:
        return None
    low95, high95 = _effects(metric, interval)
    return Effect(
        percent=percent(metric, shift.estimate),
        low95=low95,
        high95=high95,
        p=shift.p,
        p_holm=shift.p,
        test=shift.test,
        before=before,
        after=after,
    )


def _centres(
    metric: Metric, arms: tuple[Sequence[float], Sequence[float]], shift: Shift
) -> list[float]:
    """The centres of both arms that match the shift, in the metric's unit. The limits are for runs
    that carried nothing, which have no logarithm, and for rounding."""
    both = (shift.centre, shift.centre + shift.estimate)
    if not is_share(metric):
        both = (math.exp(min(both[0], _LARGEST_LOG)), math.exp(min(both[1], _LARGEST_LOG)))
    return [min(max(centre, min(arm)), max(arm)) for centre, arm in zip(both, arms, strict=True)]


def deciding(metric: Metric, shift: Shift, alpha: float) -> Deciding | None:
    """The estimate and its intervals; None if there are too few values for an interval at this
    level."""
    outer, inner = shift.interval(alpha), shift.interval(2 * alpha)
    if outer is None or inner is None:
        return None
    estimate = percent(metric, shift.estimate)
    there = shift.p <= alpha
    return Deciding(estimate, there, _effects(metric, outer), _effects(metric, inner))


def percent(metric: Metric, shift: float) -> float:
    """The effect of a shift on the metric's scale, in per cent or points; positive is better."""
    value = shift if is_share(metric) else 100 * math.expm1(min(shift, _LARGEST_LOG))
    return (value if metric.better == "higher" else -value) + 0.0


def difference(metric: Metric, before: float, after: float) -> float | None:
    """How far apart two medians are, as :func:`percent`; None: one carried nothing."""
    if is_share(metric):
        return percent(metric, after - before)
    if before <= 0 or after <= 0:
        return None
    return percent(metric, math.log(after) - math.log(before))


def _effects(metric: Metric, interval: Interval) -> Interval:
    low, high = sorted(percent(metric, end) for end in interval)
    return Interval(low, high)
