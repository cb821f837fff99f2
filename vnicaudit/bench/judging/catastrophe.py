"""Runs so bad that no statistics are needed.

A change that leaves a guest with a tenth of its network must not wait for its tenth run: one run
under half of what is usual is repeated at once, and if three in a row are as bad, that is enough.
All have to be worse than any run before as well: where other work halves a run now and then, it is
not the change that did. Two in a row would not do: where one run in twenty is that bad, chance
makes such a pair in a quarter of all measurements of nine workloads, and three in a row in two of a
hundred. Only throughput and rates count: a tail of latency doubles by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.effect import is_share, is_usable
from vnicaudit.bench.judging.reasons import amount
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.model.measurement import Sample, Workload

_SHARE = 0.5
"""Of the median before."""

_IN_A_ROW = 3
"""Runs after the change that have to be as bad, one after the other."""

KNOWN = 2
"""Runs before that there have to be, to know what is usual."""


class WatchedMetric(NamedTuple):
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
    before, in three runs after the change that followed one another; empty: none."""
    found = _fallen(samples, workloads, before_arm, after_arm)
    return tuple(_sentence(watched, after_arm, values) for watched, values in found)


def fallen_metrics(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> frozenset[tuple[str, str]]:
    """Workload and metric of each :func:`catastrophe`."""
    found = _fallen(samples, workloads, before_arm, after_arm)
    return frozenset((watched.workload, watched.metric.name) for watched, _values in found)


def _fallen(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> Iterator[tuple[WatchedMetric, tuple[float, ...]]]:
    """Metrics that fell, with the first runs that say so."""
    runs = _by_arm(samples)
    for watched in _watched(runs, workloads, before_arm):
        values = list(_values(runs[watched.workload, after_arm], watched.metric.name))
        for together in zip(*(values[place:] for place in range(_IN_A_ROW)), strict=False):
            if max(together) < watched.least:
                yield watched, together
                break


def silent_workloads(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Primary workloads of which nothing got through in two runs after the change that followed one
    another, with a second witness to each that saw nothing either, though at least two runs before
    were measured, none before was silent, and the witness saw something then.

    What did not start, or was lost, is no silence: it says nothing of the network.
    """
    if before_arm == after_arm:
        return ()
    if not any(each.arm == before_arm and _answered(each) for each in samples):
        return ()
    runs: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        runs[sample.workload, sample.arm].append(sample)
    return tuple(
        workload.id
        for workload in workloads
        if workload.primary
        and _was_measured(runs[workload.id, before_arm])
        and any(
            _is_silent(first) and _is_silent(second)
            for first, second in pairwise(runs[workload.id, after_arm])
        )
    )


def silence(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Reasons, one for each of the :func:`silent_workloads`."""
    return tuple(
        f"{name}: nothing got through in {after_arm} twice in a row, and ping was not answered "
        f"either; in {before_arm} both worked"
        for name in silent_workloads(samples, workloads, before_arm, after_arm)
    )


def _was_measured(before: Sequence[Sample]) -> bool:
    """Often enough, and it was never silent."""
    silent = any(sample.failure == "silent" for sample in before)
    return sum(sample.valid for sample in before) >= KNOWN and not silent


def _answered(sample: Sample) -> bool:
    return sample.witness is not None and sample.witness.answered is True


def _is_silent(sample: Sample) -> bool:
    """Nothing got through, and a second witness says so."""
    witness = sample.witness
    return sample.failure == "silent" and witness is not None and witness.answered is False


def suspicious(
    last: Sample, samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str
) -> bool:
    """True where the last run is so bad that it has to be made again."""
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
) -> Iterator[WatchedMetric]:
    """Where it is known what is usual. Where the latest run before is that bad too, the change is
    not what did it, and nothing is watched."""
    for workload in workloads:
        metrics = [METRICS[name] for name in workload.decides if name in METRICS]
        for metric in metrics if workload.primary else ():
            values = list(_values(runs[workload.id, before_arm], metric.name))
            if metric.better == "lower" or is_share(metric) or len(values) < KNOWN:
                continue
            usual = median(values)
            watched = WatchedMetric(workload.id, metric, usual, min(_SHARE * usual, *values))
            if values[-1] >= watched.least:
                yield watched


def _values(runs: Sequence[Sample], metric: str) -> Iterator[float]:
    """In the order in which they were measured."""
    for sample in runs:
        value = sample.values.get(metric)
        if value is not None and is_usable(value):
            yield value


def _sentence(watched: WatchedMetric, arm: str, values: Sequence[float]) -> str:
    unit = watched.metric.unit
    *first, last = (amount(value, unit) for value in values)
    return (
        f"{watched.workload}, {watched.metric.name}: {arm} {', '.join(first)} and {last}, "
        f"three times in a row less than half of the {amount(watched.usual, unit)} before, and "
        "less than any run before"
    )
