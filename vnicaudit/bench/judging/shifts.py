"""The shift between two samples: estimate, intervals, p.

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
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, Protocol

from vnicaudit.bench.judging.statistics import (
    Interval,
    critical_rank,
    is_exact,
    mann_whitney,
    median,
)

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

_ENOUGH = 1e-15
_TINY = 1e-300
_STEPS = 500


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


def t_cdf(t: float, freedom: float) -> float:
    """Share of Student's distribution below ``t``."""
    tail = _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=256)
def t_quantile(share: float, freedom: float) -> float:
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


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function (Abramowitz and Stegun 26.5.8)."""
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    size = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    size += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(size) / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)), its continued fraction, by Lentz's method."""
    value = front = 1.0
    back = 0.0
    for step in range(1, _STEPS):
        term = _term(step, x, a, b)
        back = 1 / (1 + term * back or _TINY)
        front = 1 + term / front or _TINY
        value *= front * back
        if abs(front * back - 1) < _ENOUGH:
            break
    return value


def _term(step: int, x: float, a: float, b: float) -> float:
    half = step // 2
    if step % 2:
        return -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
    return half * (b - half) * x / ((a + step - 1) * (a + step))
