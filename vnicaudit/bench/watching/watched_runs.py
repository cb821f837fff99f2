"""The measurements of ``bench watch``, read from the history.

Only the few fields of a series are read, never the output of tools; unreadable entries are skipped,
since they may serve a different purpose.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from vnicaudit.base.clock import moment
from vnicaudit.bench import history
from vnicaudit.bench.judging.effect import is_usable
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import Workload

T = TypeVar("T")

LABEL = "watch"
"""Label of a measurement that ``bench watch`` made; its value is the name of the path."""
MOST_RUNS = 2000
"""Maximum number of measurements that are read, the latest ones of the whole history."""
_FILE_MAX = 16 * 1024 * 1024
_NONE = math.nan


class SeriesKey(NamedTuple):
    """One series of a path."""

    workload: str
    metric: str


class _Run(msgspec.Struct, frozen=True):
    started: str
    labels: dict[str, str] = {}


class _Path(msgspec.Struct, frozen=True):
    target: str
    peer: str
    hypervisor: str | None = None


class _RunHead(msgspec.Struct, frozen=True):
    run: _Run
    paths: tuple[_Path, ...]
    workloads: tuple[Workload, ...]


class _Sample(msgspec.Struct, frozen=True):
    workload: str
    boot: str = ""
    values: dict[str, float] = {}
    valid: bool = True


class RunValues(NamedTuple):
    """``boot``: of the target, empty if unknown; ``values``: for each series, the median of the
    runs that count."""

    boot: str
    values: dict[SeriesKey, float]


class WatchedRun(NamedTuple):
    """``time``: Unix time of its start. ``target``, ``peer``, ``hypervisor``: endpoint URLs."""

    folder: Path
    time: float
    target: str
    peer: str
    hypervisor: str | None
    workloads: tuple[Workload, ...]

    def of(self, workloads: Sequence[Workload]) -> RunValues:
        """The values of the same work, for the metrics by which it is judged."""
        works = [_work(one) for one in self.workloads]
        same = [one for one in workloads if _work(one) in works]
        samples = [one for one in _samples(self.folder / "samples.jsonl") if one.valid]
        found = {
            SeriesKey(one.id, metric): values
            for one in same for metric in one.decides
            if metric in METRICS and (values := _values(samples, one.id, metric))
        }  # fmt: skip
        boot = samples[0].boot if samples else ""
        return RunValues(boot, {key: median(values) for key, values in found.items()})


def watched_runs(state: Path, most: int | None = MOST_RUNS) -> Iterator[WatchedRun]:
    """The watched runs among the latest ``most`` measurements (None: all), oldest first. Raises
    UsageError if the history cannot be read."""
    names = history.measurement_ids(state)
    for name in names if most is None else names[-most:]:
        folder = state / "bench" / name
        head = _head(folder)
        if head is None or LABEL not in head.run.labels or len(head.paths) != 1:
            continue
        time, (path,) = _time(head.run.started), head.paths
        if time is not None:
            yield WatchedRun(folder, time, path.target, path.peer, path.hypervisor, head.workloads)


def _work(one: Workload) -> tuple[object, ...]:
    """Everything that makes runs comparable, without options, which are settled again in every
    run."""
    return (
        one.id, one.engine, one.pattern, one.direction, one.connections, one.generators, one.size,
        one.seconds, one.warmup, one.rate, one.state,
    )  # fmt: skip


def _values(samples: Sequence[_Sample], workload: str, metric: str) -> list[float]:
    found = [one.values.get(metric, _NONE) for one in samples if one.workload == workload]
    return [value for value in found if is_usable(value)]


def _time(text: str) -> float | None:
    try:
        return moment(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _head(folder: Path) -> _RunHead | None:
    try:
        data = (folder / "head.json").read_bytes()
    except OSError:
        return None
    return _decoded(data, _RunHead)


def _samples(path: Path) -> Iterator[_Sample]:
    """The samples in a file; empty for a file that is too long: a short run's never is."""
    try:
        lines = path.read_bytes().splitlines() if os.path.getsize(path) <= _FILE_MAX else ()
    except OSError:
        return
    for line in lines:
        sample = _decoded(line, _Sample)
        if sample is not None:
            yield sample


def _decoded(data: bytes, kind: type[T]) -> T | None:
    try:
        return json_as(data, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
