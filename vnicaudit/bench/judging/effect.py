"""The effect of a change on one metric: logarithms, per cent, and which direction is better.

Ratios matter, so values are compared by their logarithms, and the effect is the change of the value
in per cent; its sign is reversed if lower is better. A metric that is a share already (loss, in per
cent) is compared by difference: its effect is in percentage points. A loss of 0 is common, and
0.2 % instead of 0.1 % is not "twice as bad".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.shifts import (
    FEW_TURNS,
    RankShift,
    Shift,
    TurnShift,
    between_turns,
)
from vnicaudit.bench.judging.statistics import Interval
from vnicaudit.bench.metrics import Metric
from vnicaudit.model.measurement import Design, Effect

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


class Centres(NamedTuple):
    """The centre of the values of each arm, consistent with the effect."""

    before: float
    after: float


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


def effect_of(metric: Metric, shift: Shift, centres: Centres | None = None) -> Effect | None:
    """Return the effect for the report, with intervals at 95 and 90 %; None if there are too few
    values for them. ``p_holm`` is as if this were the only comparison."""
    before, after = centres or (None, None)
    wide, narrow = shift.interval(0.05), shift.interval(0.10)
    if wide is None or narrow is None:
        return None
    (low95, high95), (low90, high90) = _effects(metric, wide), _effects(metric, narrow)
    return Effect(
        percent=percent(metric, shift.estimate),
        low95=low95,
        high95=high95,
        low90=low90,
        high90=high90,
        p=shift.p,
        p_holm=shift.p,
        test=shift.test,
        before=before,
        after=after,
    )


def centres_of(
    metric: Metric, before: Sequence[float], after: Sequence[float], shift: Shift
) -> Centres:
    """The centres of both arms that match the shift, in the metric's unit. The limits are for runs
    that carried nothing, which have no logarithm, and for rounding."""
    both = (shift.centre, shift.centre + shift.estimate)
    if not is_share(metric):
        both = (math.exp(min(both[0], _LARGEST_LOG)), math.exp(min(both[1], _LARGEST_LOG)))
    return Centres(
        *(
            min(max(centre, min(arm)), max(arm))
            for centre, arm in zip(both, (before, after), strict=True)
        )
    )


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


def amount_of(metric: Metric, difference: float) -> str:
    """The size of a difference on the metric's scale, in words: ``5 %``, ``0.5 points``."""
    if is_share(metric):
        return f"{difference:.2g} points"
    return f"{100 * math.expm1(min(difference, _LARGEST_LOG)):.0f} %"


def _effects(metric: Metric, interval: Interval) -> Interval:
    low, high = sorted(percent(metric, end) for end in interval)
    return Interval(low, high)
