"""From samples to the values that count: one for each run, or for each boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.effect import usable
from vnicaudit.model.measurement import Design, Sample

_POLLING = "host_cpu"


class Runs(NamedTuple):
    """One metric of one workload in one arm."""

    values: tuple[float, ...]
    spoiled: int = 0
    """Runs that do not count."""
    why: str = ""
    """Why most of them do not."""
    limited: bool = False
    """The generator was the limit in most that count."""
    spoiled_by_generator: bool = False


def runs_of(
    samples: Iterable[Sample], workload: str, arm: str, metric: str, design: Design
) -> Runs:
    """What was measured. A sample that is valid and lacks the metric was not measured by it."""
    mine = [each for each in samples if each.workload == workload and each.arm == arm]
    counted = [each for each in mine if each.valid and _value(each, metric) is not None]
    spoiled = [each for each in mine if not each.valid]
    reasons = Counter(each.reason for each in spoiled if each.reason)
    return Runs(
        values=_units(counted, metric, design),
        spoiled=len(spoiled),
        why=reasons.most_common(1)[0][0] if reasons else "",
        limited=_mostly_limited(counted),
        spoiled_by_generator=_mostly_limited(spoiled),
    )


def _value(sample: Sample, metric: str) -> float | None:
    """None where it was not measured. What a polling data path costs is the same whatever it
    carries, so it counts as not measured."""
    value = sample.values.get(metric)
    if value is None or not usable(value):
        return None
    return None if metric.startswith(_POLLING) and sample.covariates.cpu.busy_poll else value


def _mostly_limited(samples: Sequence[Sample]) -> bool:
    return 2 * sum(each.covariates.generator_limited for each in samples) > len(samples)


def _units(samples: Sequence[Sample], metric: str, design: Design) -> tuple[float, ...]:
    """Runs between two changes resemble one another, so that they are one unit: their mean."""
    groups: dict[str | int, list[float]] = {}
    for place, sample in enumerate(sorted(samples, key=lambda each: each.order)):
        groups.setdefault(_unit(sample, place, design), []).append(sample.values[metric])
    return tuple(sum(value / len(group) for value in group) for group in groups.values())


def _unit(sample: Sample, place: int, design: Design) -> str | int:
    """What a value belongs to: with boots, a boot; with flips, the time between two of them, which
    is a block; else the run itself."""
    if design == "boots" and sample.boot:
        return sample.boot
    return sample.block if design in ("boots", "flips") else place
