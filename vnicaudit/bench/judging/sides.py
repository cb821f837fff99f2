"""One metric of one workload in both arms, and what else there is to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.bench.judging.ceiling import exceeds
from vnicaudit.bench.judging.effect import Deciding, percent
from vnicaudit.bench.judging.intervals import Shift
from vnicaudit.bench.judging.reasons import amount, effect_unit, signed
from vnicaudit.bench.judging.runs import Runs
from vnicaudit.bench.judging.statistics import median, two_bands
from vnicaudit.bench.metrics import Metric


class Side(NamedTuple):
    """One arm. ``most``: what its line allows."""

    arm: str
    runs: Runs
    most: float | None = None


class Sides(NamedTuple):
    """What is compared with what."""

    before: Side
    after: Side


def effect_notes(
    metric: Metric, shift: Shift | None, found: Deciding | None, alpha: float
) -> Iterator[str]:
    """How sure the effect is, where the intervals of the result do not say it."""
    unit = effect_unit(metric.unit)
    if shift is not None and shift.interval(0.05) is None:
        size = signed(percent(metric, shift.estimate))
        yield f"about {size} {unit}; too few runs to say how sure that is"
    elif found is not None and alpha != 0.05:
        outer, inner = (f"{signed(one.low)} to {signed(one.high)} {unit}" for one in found[1:])
        yield (
            f"at this look the {100 * (1 - alpha):g} % interval counts: {outer}; for that nothing "
            f"got worse, the {100 * (1 - 2 * alpha):g} % one: {inner}"
        )


def side_notes(metric: Metric, side: Side) -> Iterator[str]:
    """What is odd about the runs of an arm."""
    runs, arm = side.runs, side.arm
    if not runs.values:
        yield f"{arm}: not measured"
    if runs.spoiled:
        yield f"{arm}: {runs.spoiled} more did not count" + (f" ({runs.why})" if runs.why else "")
    dead = sum(value <= 0 for value in runs.values)
    if dead and metric.better == "higher":
        yield f"{arm}: {dead} of {len(runs.values)} carried nothing"
    bands = two_bands(runs.values)
    if bands:
        low, high = (amount(value, metric.unit) for value in bands)
        yield f"{arm}: falls into two bands, around {low} and {high}"
    if runs.limited:
        yield f"{arm}: the generator was the limit, not what was measured"
    if runs.values and exceeds(median(runs.values), side.most):
        yield f"{arm}: more than the line allows; the line rate given is not that of its path"
