"""The shift where all runs before came first and all runs after then, after one change.

Ranks would be wrong here: runs of one boot resemble one another more than runs of two boots do, so
that two boots of the same thing look different. What boots differ by cannot be seen in one boot of
each; it is assumed, and put into the interval:

    SE^2 = s_w^2/n + s_w^2/m + 2 s_b^2        difference of means ± t * SE

``s_w``: standard deviation within the arms, pooled. ``s_b``: between boots, a prior of 0.03 on
logarithms (3 %). ``t`` has n + m - 2 degrees of freedom, those of ``s_w``. Satterthwaite's formula
would give more, since the prior has no error of its own; it is a guess, so it gets no credit for
that, and the interval is the wider one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from vnicaudit.bench.judging.intervals import Test
from vnicaudit.bench.judging.statistics import Interval

BETWEEN_BOOTS = 0.03
"""Assumed standard deviation between boots, of logarithms: 3 %."""

_ENOUGH = 1e-15
_TINY = 1e-300
_STEPS = 500


class FlipShift:
    """The shift of one flip; at least two values in one arm and one in the other."""

    test: Test = "single-flip-t"

    def __init__(
        self, before: Sequence[float], after: Sequence[float], between: float = BETWEEN_BOOTS
    ) -> None:
        n, m = len(before), len(after)
        self._freedom = n + m - 2
        self.estimate = _mean(after) - _mean(before)
        within = (_squares(before) + _squares(after)) / self._freedom
        self._error = math.sqrt(within / n + within / m + 2 * between**2)
        self.p = 2 * t_cdf(-abs(self.estimate / self._error), self._freedom)

    def interval(self, level: float) -> Interval | None:
        """Estimate ± t * SE."""
        reach = t_quantile(1 - level / 2, self._freedom) * self._error
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
    """Where ``share`` (above 0, below 1) of Student's distribution lies below."""
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
    """1 + d1/(1 + d2/(1 + ...)), the continued fraction of it, by Lentz's method."""
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
