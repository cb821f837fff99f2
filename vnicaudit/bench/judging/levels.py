"""Turns on two levels: a difference that is only how many turns of each arm fell on which.

Plugs and boots are known to jump between two levels with the placement of their workers. Where all
turns of one arm happen to be on the upper one and most of the other on the lower, ranks and means
see a difference. Its size is that between the levels; what tells it from a change is that turns on
the same level are alike, whichever arm they are of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_FEWEST = 2
"""Turns of a level: one alone is an outlier."""
_GAP = 0.05
"""Between levels, of logarithms; and more than the width of the wider one."""


def are_only_levels(before: Sequence[float], after: Sequence[float]) -> bool:
    """True where positive values fall on two levels, and arms that share a level overlap there."""
    values = [*before, *after]
    if min(values, default=0.0) <= 0:
        return False
    cut = _cut(sorted(values))
    if cut is None:
        return False
    arms = (before, after)
    lower, upper = (
        [[value for value in arm if (value >= cut) == above] for arm in arms]
        for above in (False, True)
    )
    return _overlap(*lower) or _overlap(*upper)


def _cut(ordered: Sequence[float]) -> float | None:
    """The least value of the upper level; None where there are no two levels."""
    logs = [math.log(value) for value in ordered]
    if len(logs) < 2 * _FEWEST:
        return None
    gap, at = max((logs[at] - logs[at - 1], at) for at in range(1, len(logs)))
    wider = max(logs[at - 1] - logs[0], logs[-1] - logs[at])
    if min(at, len(logs) - at) < _FEWEST or gap <= max(_GAP, wider):
        return None
    return ordered[at]


def _overlap(before: Sequence[float], after: Sequence[float]) -> bool:
    """True where both have values, and neither lies wholly above the other."""
    if not before or not after:
        return False
    return max(before) >= min(after) and max(after) >= min(before)
