"""Turns on two levels: a difference that comes only from how many turns of each arm were on which
level.

Plugs and boots are known to jump between two levels with the placement of their workers. If all
turns of one arm happen to be on the upper one and most of the other on the lower, ranks and means
show a difference as large as that between the levels. It is distinguished from a change by the
turns on the same level, which are alike in both arms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_FEWEST = 2
"""Minimum number of turns on a level: a single one is an outlier."""
_GAP = 0.05
"""Minimum gap between levels, in logarithms; it must also exceed the width of the wider level."""


def are_only_levels(before: Sequence[float], after: Sequence[float]) -> bool:
    """True if positive values fall on two levels, and arms that share a level overlap there."""
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
    """The lowest value of the upper level; None if there are not two levels."""
    logs = [math.log(value) for value in ordered]
    if len(logs) < 2 * _FEWEST:
        return None
    gap, at = max((logs[at] - logs[at - 1], at) for at in range(1, len(logs)))
    wider = max(logs[at - 1] - logs[0], logs[-1] - logs[at])
    if min(at, len(logs) - at) < _FEWEST or gap <= max(_GAP, wider):
        return None
    return ordered[at]


def _overlap(before: Sequence[float], after: Sequence[float]) -> bool:
    """True if both have values, and neither lies wholly above the other."""
    if not before or not after:
        return False
    return max(before) >= min(after) and max(after) >= min(before)
