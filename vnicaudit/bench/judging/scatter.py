"""The scatter of runs and turns of the same thing, from stored measurements.

    s_run²    the variance of the runs of a turn, pooled over all turns
    s_turn²   the variance of the means of turns of one arm, pooled over all arms, less the part
              that is due to the runs: s_run² · (the mean of 1/r over these turns of r runs)

The turns of one arm are the same thing, plugged in or booted again; the effect of a change lies
between arms, and is in neither variance. A variance that comes out below 0 is 0. If no arm has two
turns, the scatter between turns is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from vnicaudit.bench.judging.drift import bartels_ratio

Turn = Sequence[float]
"""Values of the runs of a turn, in order; logarithms, or percentage points of a share."""
ArmTurns = Sequence[Turn]
"""The turns of one arm of one measurement, in order."""

_FEWEST_FOR_RATIO = 5
_RESEMBLE = 1.2
"""Bartels' ratio below which runs resemble their neighbours; about 2 is usual for chance."""


class Scatter(NamedTuple):
    """Standard deviations. ``runs``: within a turn; ``turns``: between turns, beyond what their
    runs explain, None if unknown. ``run_freedom``, ``turn_freedom``: degrees of freedom of each.
    ``ratio``: Bartels', the median of all long turns; None: there is none."""

    runs: float
    run_freedom: int
    turns: float | None
    turn_freedom: int
    ratio: float | None

    @property
    def resembles(self) -> bool:
        """True if runs resemble those before them more than by chance."""
        return self.ratio is not None and self.ratio < _RESEMBLE

    def of_turn(self, runs: int) -> float:
        """The standard deviation of the mean of a turn with that many runs."""
        return math.sqrt((self.turns or 0.0) ** 2 + self.runs**2 / runs)


def scatter_of(arms: Iterable[ArmTurns]) -> Scatter | None:
    """Scatter of one workload and metric; None if no turn has two runs."""
    whole = [[turn for turn in arm if turn] for arm in arms]
    turns = [turn for arm in whole for turn in arm]
    freedom = sum(len(turn) - 1 for turn in turns)
    if not freedom:
        return None
    within = math.fsum(map(_squares, turns)) / freedom
    between, turn_freedom = _between(whole, within)
    return Scatter(math.sqrt(within), freedom, between, turn_freedom, _ratio(whole))


def wider(turns: Scatter | None, days: Scatter | None) -> Scatter | None:
    """Scatter of a host by its turns, with the differences seen between runs of a day if these are
    larger. The scatter between turns stays: days show nothing about boots and plugs. ``days``: arms
    of one turn, each a day."""
    if turns is None or days is None:
        return days if turns is None else turns
    more = max(turns, days, key=lambda one: one.runs)
    ratios = [one.ratio for one in (turns, days) if one.ratio is not None]
    return turns._replace(
        runs=more.runs, run_freedom=more.run_freedom, ratio=min(ratios, default=None)
    )


def _between(arms: Sequence[ArmTurns], within: float) -> tuple[float | None, int]:
    """The standard deviation between turns (None: unknown), and its degrees of freedom."""
    several = [arm for arm in arms if len(arm) > 1]
    freedom = sum(len(arm) - 1 for arm in several)
    if not freedom:
        return None, 0
    means = math.fsum(_squares([_mean(turn) for turn in arm]) for arm in several) / freedom
    shares = [1 / len(turn) for arm in several for turn in arm]
    return math.sqrt(max(0.0, means - within * _mean(shares))), freedom


def _ratio(arms: Sequence[ArmTurns]) -> float | None:
    """Bartels' ratio of the runs of each turn with enough of them: differences between turns are
    not drift."""
    long = (turn for arm in arms for turn in arm if len(turn) >= _FEWEST_FOR_RATIO)
    found = [bartels_ratio(turn) for turn in long]
    return median(found) if found else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values)
