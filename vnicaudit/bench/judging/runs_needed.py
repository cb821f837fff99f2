"""The number of runs that would decide a comparison which the present runs did not.

Planned by the usual formula for two samples of equal size: a test at ``alpha`` finds a difference
``d`` with a probability of ``power`` from this number of runs in each arm:

    n = 2 · (z(1 - alpha/2) + z(power))² · s² / d²

``s`` is the standard deviation of one arm; on logarithms, since effects are ratios. A test by ranks
needs 1/0.955 of that if the noise is normal (Hodges and Lehmann, "The efficiency of some
nonparametric competitors of the t-test", Annals of Mathematical Statistics 27, 1956), and less if
it is not. The spread is estimated from a few runs, so the answer is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from vnicaudit.bench.judging.statistics import smallest_p

_EFFICIENCY = 3 / math.pi
"""Efficiency of ranks compared with the mean, for normal noise."""
_POWER = 0.8
MOST_RUNS = 100
"""The most runs of an arm that a measurement may have."""


def spread_of(*arms: Sequence[float], logarithms: bool = True) -> float | None:
    """The standard deviation within the arms, pooled; of logarithms unless the values are shares.
    None if it is unknown: too few values, or one without a logarithm."""
    if logarithms:
        if any(value <= 0 for arm in arms for value in arm):
            return None
        arms = tuple([math.log(value) for value in arm] for arm in arms)
    freedom = sum(len(arm) - 1 for arm in arms if arm)
    if freedom < 2:
        return None
    squares = math.fsum((value - math.fsum(arm) / len(arm)) ** 2 for arm in arms for value in arm)
    return math.sqrt(squares / freedom)


def runs_to_show(difference: float, spread: float, *, alpha: float = 0.05) -> int | None:
    """Runs in each arm that show a ``difference`` in four of five measurements; both are on the
    scale of the spread. None: more than :data:`MOST_RUNS`."""
    room = (difference / _reach(alpha)) ** 2
    for runs in range(_fewest(alpha), MOST_RUNS + 1):
        if 2 * spread**2 / (runs * _EFFICIENCY) <= room:
            return runs
    return None


def shown_by(runs: int, spread: float, *, alpha: float = 0.05) -> float:
    """The smallest difference that ``runs`` in each arm show in four of five measurements."""
    error = 2 * spread**2 / (max(runs, 1) * _EFFICIENCY)
    return _reach(alpha) * math.sqrt(error)


def _reach(alpha: float) -> float:
    """Standard errors by which a difference must differ from 0."""
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(_POWER)


def _fewest(alpha: float) -> int:
    """Runs with which the test's p can be below ``alpha`` at all."""
    return next(runs for runs in range(2, MOST_RUNS) if smallest_p(runs, runs) <= alpha)
