"""One metric of one workload in both arms: the values that count (one per run, or per boot), and
other facts about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.ceiling import exceeds
from vnicaudit.bench.judging.effect import TURNS, Deciding, difference, is_usable, percent
from vnicaudit.bench.judging.reasons import amount, effect_unit, signed
from vnicaudit.bench.judging.shifts import Shift
from vnicaudit.bench.judging.statistics import median, two_bands
from vnicaudit.bench.metrics import Metric
from vnicaudit.model.measurement import Design, Sample

_POLLING = "host_cpu"


class Runs(NamedTuple):
    """One metric of one workload in one arm."""

    values: tuple[float, ...]
    blocks: tuple[int, ...] = ()
    """The block, or turn, of each value."""
    spoiled: int = 0
    """Number of runs that do not count."""
    spoiled_reason: str = ""
    """The most frequent reason why they do not."""
    limited: bool = False
    """The generator was the limit in most runs that count."""
    spoiled_by_generator: bool = False


def runs_of(
    samples: Iterable[Sample],
    workload: str,
    arm: str,
    metric: str,
    design: Design,
    runs_per_turn: int = 1,
) -> Runs:
    """The runs of one metric of a workload in one arm. A valid sample without the metric did not
    measure it, and is left out."""
    mine = [each for each in samples if each.workload == workload and each.arm == arm]
    counted = [each for each in mine if each.valid and _value(each, metric) is not None]
    spoiled = [each for each in mine if not each.valid]
    reasons = Counter(each.reason for each in spoiled if each.reason)
    units = _units(counted, metric, design, runs_per_turn)
    return Runs(
        values=tuple(value for value, _block in units),
        blocks=tuple(block for _value, block in units),
        spoiled=len(spoiled),
        spoiled_reason=reasons.most_common(1)[0][0] if reasons else "",
        limited=_mostly_limited(counted),
        spoiled_by_generator=_mostly_limited(spoiled),
    )


def _value(sample: Sample, metric: str) -> float | None:
    """The value of a sample; None if it was not measured. The cost of a polling data path does not
    depend on the load, so it counts as not measured."""
    value = sample.values.get(metric)
    if value is None or not is_usable(value):
        return None
    return None if metric.startswith(_POLLING) and sample.covariates.cpu.busy_poll else value


def _mostly_limited(samples: Sequence[Sample]) -> bool:
    return 2 * sum(each.covariates.generator_limited for each in samples) > len(samples)


def _units(
    samples: Sequence[Sample], metric: str, design: Design, runs_per_turn: int
) -> list[tuple[float, int]]:
    """Runs between two changes resemble each other, so they are one unit: their mean, and its
    block, or turn."""
    groups: dict[str | int, list[Sample]] = {}
    for place, sample in enumerate(sorted(samples, key=lambda each: each.order)):
        groups.setdefault(_unit(sample, place, design, runs_per_turn), []).append(sample)
    return [
        (
            sum(each.values[metric] / len(group) for each in group),
            group[0].block // max(1, runs_per_turn),
        )
        for group in groups.values()
    ]


def _unit(sample: Sample, place: int, design: Design, runs_per_turn: int) -> str | int:
    """The group that a value belongs to: with boots, a boot; with flips, the time between two of
    them, which is a turn; else the run itself."""
    if design == "boots" and sample.boot:
        return sample.boot
    return sample.block // max(1, runs_per_turn) if design in TURNS else place


class Side(NamedTuple):
    """One arm. ``most``: the limit of its line."""

    arm: str
    runs: Runs
    most: float | None = None


class Sides(NamedTuple):
    """Both arms of a comparison."""

    before: Side
    after: Side


def difference_notes(metric: Metric, sides: Sides) -> Iterator[str]:
    """How far apart the medians of a single flip are; nothing if one is unknown, or 0."""
    if not all(side.runs.values for side in sides):
        return
    found = difference(metric, *(median(side.runs.values) for side in sides))
    if found is not None:
        size, unit = signed(found), effect_unit(metric.unit)
        yield f"about {size} {unit} (minus is worse), not judged"


def effect_notes(
    metric: Metric, shift: Shift | None, found: Deciding | None, alpha: float
) -> Iterator[str]:
    """Notes on the certainty of the effect, if the intervals of the result do not show it."""
    unit = effect_unit(metric.unit)
    if shift is not None and shift.interval(0.05) is None:
        size = signed(percent(metric, shift.estimate))
        yield f"about {size} {unit}; too few runs to tell how certain that is"
    if shift is not None and found is not None and alpha != 0.05:
        intervals = found.outer, found.inner
        outer, inner = (f"{signed(one.low)} to {signed(one.high)} {unit}" for one in intervals)
        yield (
            f"at this look the {100 * (1 - alpha):g} % interval decides: {outer}; to rule out "
            f"harm, the {100 * (1 - 2 * alpha):g} % one: {inner}"
        )


def side_notes(metric: Metric, side: Side) -> Iterator[str]:
    """Notes on oddities in the runs of an arm."""
    runs, arm = side.runs, side.arm
    if not runs.values:
        yield f"{arm}: not measured"
    if runs.spoiled:
        yield f"{arm}: {runs.spoiled} more were invalid" + (
            f" ({runs.spoiled_reason})" if runs.spoiled_reason else ""
        )
    dead = sum(value <= 0 for value in runs.values)
    if dead and metric.better == "higher":
        yield f"{arm}: {dead} of {len(runs.values)} carried nothing"
    bands = two_bands(runs.values)
    if bands:
        low, high = (amount(value, metric.unit) for value in bands)
        yield f"{arm}: values fall into two bands, around {low} and {high}"
    if runs.limited:
        yield f"{arm}: the limit was the generator, not the path"
    if runs.values and exceeds(median(runs.values), side.most):
        yield f"{arm}: more than the line allows; --line-rate is not that of its path"
