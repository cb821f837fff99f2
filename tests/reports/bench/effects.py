"""Summaries and effects, worked out as the product does it (its own tests hold it to scipy)."""

from collections.abc import Sequence

from vnicaudit.bench.judging.effect import effect_of, shift_of
from vnicaudit.bench.judging.statistics import median, median_interval, variation
from vnicaudit.bench.metrics import Metric
from vnicaudit.model.measurement import ArmSummary, Effect


def summary(values: Sequence[float], line: float | None = None) -> ArmSummary:
    """Of one arm. ``line``: goodput that the line allows."""
    middle, interval = median(values), median_interval(values)
    share = 100 * middle / line if line else None
    low, high = interval or (None, None)
    return ArmSummary(len(values), middle, low, high, variation(values), share)


def effect(
    metric: Metric, before: Sequence[float], after: Sequence[float], *, flip: bool
) -> Effect | None:
    """After against before; positive is better."""
    shift = shift_of(metric, before, after, "flips" if flip else "live-flip")
    return None if shift is None else effect_of(metric, shift, (before, after))
