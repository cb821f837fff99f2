"""Runs so bad that no statistics are needed.

A change that leaves a guest with a tenth of its network must not wait for its tenth run: one run
under half of what is usual is repeated at once, and if the second is as bad, that is enough. Both
have to be worse than any run before as well: where other work halves a run now and then, it is not
the change that did. Only throughput and rates count: a tail of latency doubles by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.effect import is_share, usable
from vnicaudit.bench.judging.reasons import amount
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.model.measurement import Sample, Workload

_SHARE = 0.5
"""Of the median before."""

_KNOWN = 2
"""Runs before that there have to be, to know what is usual."""


class Watched(NamedTuple):
    """A metric of a workload whose fall would be a catastrophe. ``least``: what it must not fall
    below."""

    workload: str
    metric: Metric
    usual: float
    least: float


def catastrophe(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Reasons, one for each metric that fell below half of its median before, and below every run
    before, in two runs after the change that followed one another; empty: none."""
    found = []
    runs = _by_arm(samples)
    for watched in _watched(runs, workloads, before_arm):
        values = list(_values(runs[watched.workload, after_arm], watched.metric.name))
        for first, second in pairwise(values):
            if max(first, second) < watched.least:
                found.append(_words(watched, after_arm, first, second))
                break
    return tuple(found)


def silence(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Reasons, one for each workload of which nothing came back in two runs after the change that
    followed one another, though it did before: an engine that gets nothing through has no number
    to show for it. Where the latest run before came to nothing too, the change did not do that."""
    found = []
    runs: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        runs[sample.workload, sample.arm].append(sample)
    for workload in workloads if before_arm != after_arm else ():
        before, after = (runs[workload.id, arm] for arm in (before_arm, after_arm))
        ran = sum(each.valid for each in before)
        if not workload.primary or ran < _KNOWN or _came_to_nothing(before[-1]):
            continue
        for first, second in pairwise(after):
            if _came_to_nothing(first) and _came_to_nothing(second):
                reason = f"{workload.id}: {after_arm} failed twice in a row, {before_arm} did not"
                found.append(f"{reason}: {second.reason}")
                break
    return tuple(found)


def _came_to_nothing(sample: Sample) -> bool:
    """Not one that was measured and does not count: of that there are values."""
    return not sample.valid and not sample.values


def suspicious(
    last: Sample, samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str
) -> bool:
    """Whether this run, made last, is so bad that it has to be made again."""
    if not last.valid or last.arm == before_arm:
        return False
    mine = [workload for workload in workloads if workload.id == last.workload]
    return any(
        last.values.get(watched.metric.name, watched.usual) < watched.least
        for watched in _watched(_by_arm(samples), mine, before_arm)
    )


def _by_arm(samples: Sequence[Sample]) -> defaultdict[tuple[str, str], list[Sample]]:
    """The runs that count, of each workload in each arm: this is asked for after every run."""
    found: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.valid:
            found[sample.workload, sample.arm].append(sample)
    return found


def _watched(
    runs: defaultdict[tuple[str, str], list[Sample]],
    workloads: Sequence[Workload],
    before_arm: str,
) -> Iterator[Watched]:
    """Where it is known what is usual. Where the latest run before is that bad too, the change is
    not what did it, and nothing is watched."""
    for workload in workloads:
        metrics = [METRICS[name] for name in workload.decides if name in METRICS]
        for metric in metrics if workload.primary else ():
            values = list(_values(runs[workload.id, before_arm], metric.name))
            if metric.better == "lower" or is_share(metric) or len(values) < _KNOWN:
                continue
            usual = median(values)
            watched = Watched(workload.id, metric, usual, min(_SHARE * usual, *values))
            if values[-1] >= watched.least:
                yield watched


def _values(runs: Sequence[Sample], metric: str) -> Iterator[float]:
    """In the order in which they were measured."""
    for sample in runs:
        value = sample.values.get(metric)
        if value is not None and usable(value):
            yield value


def _words(watched: Watched, arm: str, first: float, second: float) -> str:
    unit = watched.metric.unit
    seen = f"{amount(first, unit)} and {amount(second, unit)}"
    return (
        f"{watched.workload}, {watched.metric.name}: {arm} {seen}, twice in a row less than half "
        f"of the {amount(watched.usual, unit)} before, and less than any run before"
    )
