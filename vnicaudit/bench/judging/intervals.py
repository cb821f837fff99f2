"""By how much one sample lies above another: estimate, intervals, p.

Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics
34 (1963): the median of all differences between a value of the one and a value of the other. The
interval is the same test turned around: the differences that it would not reject.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from vnicaudit.bench.judging.statistics import (
    Interval,
    critical_rank,
    exact,
    mann_whitney,
    median,
)

Test = Literal["mann-whitney-exact", "mann-whitney-normal", "single-flip-t"]


class Shift(Protocol):
    """By how much the values after lie above those before, on whatever scale they are on."""

    test: Test
    estimate: float
    p: float
    """Two-sided: that it is none."""

    def interval(self, level: float) -> Interval | None:
        """Misses the true shift with a probability of ``level`` at most; None: too few values."""


class RankShift:
    """The shift by ranks. Assumes no distribution of the values.

    With ties the interval is too wide rather than too narrow: its level is that of untied ranks,
    and a closed interval then covers at least as often. So it can still touch 0 where p is already
    below the level.
    """

    def __init__(self, before: Sequence[float], after: Sequence[float]) -> None:
        self._n, self._m = len(before), len(after)
        self.test: Test = "mann-whitney-exact" if exact(self._n, self._m) else "mann-whitney-normal"
        self._differences = sorted(b - a for a in before for b in after)
        self.estimate = median(self._differences)
        self.p = mann_whitney(before, after)

    def interval(self, level: float) -> Interval | None:
        """Exact for the median difference, where the test is: coverage is 1 - ``level`` or a little
        more."""
        rank = critical_rank(self._n, self._m, level)
        if not rank:
            return None
        return Interval(self._differences[rank - 1], self._differences[-rank])
