"""The variation between runs and turns on a host, from its stored measurements.

Only the same host (the hypervisor or, if that is unknown, the target's machine), workload and
metric count. Unreadable measurements are left out: they were made for another purpose, and must not
cause a failure.

The runs of ``bench watch`` are treated separately: nothing is booted or plugged in between, and
there are many. Those of one day show how much runs of a day differ, see :func:`wider`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vnicaudit.bench import history
from vnicaudit.bench.endpoints.paths import machine_of
from vnicaudit.bench.history import StoredMeasurement
from vnicaudit.bench.judging.effect import TURNS, is_share, is_usable
from vnicaudit.bench.judging.scatter import Scatter, scatter_of, wider
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.bench.watching.series import days_of
from vnicaudit.bench.watching.watched_runs import LABEL, MOST_RUNS, WatchedRun
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchRun, Sample, Workload
from vnicaudit.model.measurement import Path as MeasuredPath

_MOST = 20
"""Maximum number of measurements to learn from, the latest ones: hosts change."""
_LOOKED_AT = MOST_RUNS
"""Maximum number of stored measurements that are read, the latest ones: an hourly watch makes
many."""

Judged = tuple[str, str]
"""Workload and metric."""


class HostHistory(NamedTuple):
    """``measurements``: their number; ``watched``: number of additional runs of ``bench watch``."""

    measurements: int
    scatter: Mapping[Judged, Scatter]
    watched: int = 0


NO_HISTORY = HostHistory(0, {})


def host_of(target: str, hypervisor: str | None = None) -> str:
    """The machine whose conditions a measurement shares. Raises UsageError for an invalid
    endpoint."""
    return machine_of(target, hypervisor) or target


def learnt(state: Path, hosts: Collection[str], workloads: Sequence[Workload]) -> HostHistory:
    """History of these hosts, for the metrics by which these workloads are judged."""
    arms: defaultdict[Judged, list[list[list[float]]]] = defaultdict(list)
    used = 0
    for kept in _latest(state):
        found = list(_arms_of(kept, hosts, workloads))
        for judged, turns in found:
            arms[judged].append(turns)
        used += bool(found)
        if used == _MOST:
            break
    watched = _watched(state, hosts, workloads)
    scatter = {
        judged: wider(scatter_of(arms[judged]), watched.scatter.get(judged))
        for judged in {*arms, *watched.scatter}
    }
    known = {key: one for key, one in scatter.items() if one is not None}
    return HostHistory(used, known, watched.watched)


def _watched(state: Path, hosts: Collection[str], workloads: Sequence[Workload]) -> HostHistory:
    """Scatter within days, from the runs of ``bench watch`` alone."""
    try:
        known = days_of(state, lambda run: _is_of(run, hosts), workloads)
    except UsageError:
        return NO_HISTORY
    scatter = {
        (key.workload, key.metric): scatter_of(
            [[_scaled(day, METRICS[key.metric])] for day in days]
        )
        for key, days in known.days.items()
    }
    found = {key: one for key, one in scatter.items() if one is not None}
    return HostHistory(0, found, known.runs if found else 0)


def _latest(state: Path) -> Iterator[StoredMeasurement]:
    try:
        names = history.measurement_ids(state)
    except UsageError:
        return
    for name in reversed(names[-_LOOKED_AT:]):
        yield StoredMeasurement(state / "bench" / name)


def _arms_of(
    kept: StoredMeasurement, hosts: Collection[str], workloads: Sequence[Workload]
) -> Iterator[tuple[Judged, list[list[float]]]]:
    """The turns of each arm of a finished measurement; empty if it cannot be read."""
    try:
        head = kept.head()
        if head.run.finished is None or LABEL in head.run.labels:
            return
        here = {path.name for path in head.paths if _is_of(path, hosts)}
        names = {one.id for one in head.workloads} & {one.id for one in workloads}
        samples = list(kept.samples()) if here and names else []
    except UsageError:
        return
    for workload in workloads:
        for arm in here if workload.id in names else ():
            mine = [one for one in samples if (one.workload, one.arm) == (workload.id, arm)]
            for metric in (METRICS[name] for name in workload.decides if name in METRICS):
                turns = _turns(mine, metric, head.run)
                if turns:
                    yield (workload.id, metric.name), turns


def _is_of(path: MeasuredPath | WatchedRun, hosts: Collection[str]) -> bool:
    return host_of(path.target, path.hypervisor) in hosts


def _turns(samples: Sequence[Sample], metric: Metric, run: BenchRun) -> list[list[float]]:
    """Values of the runs of each turn; a single turn if nothing was plugged or booted in
    between."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    for sample in sorted(samples, key=lambda one: one.order):
        value = sample.values.get(metric.name)
        if not sample.valid or value is None or not is_usable(value):
            continue
        turn = sample.block // max(1, run.runs_per_turn) if run.design in TURNS else 0
        found[turn] += _scaled([value], metric)
    return [found[turn] for turn in sorted(found)]


def _scaled(values: Sequence[float], metric: Metric) -> list[float]:
    """The values on the metric's scale; a value of 0 has no logarithm, and is left out."""
    if is_share(metric):
        return list(values)
    return [math.log(value) for value in values if value > 0]
