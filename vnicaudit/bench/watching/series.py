"""Watched runs as series: value by value in order of time, and day by day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from vnicaudit.bench.watching.changes import DAY, SeriesPoint
from vnicaudit.bench.watching.watched_runs import SeriesKey, WatchedRun, watched_runs
from vnicaudit.model.measurement import Workload

MOST_DAYS = 14
"""Maximum number of days that :func:`days_of` returns, the latest ones: hosts change."""


class PathIdentity(NamedTuple):
    """The identity of a watched path: endpoint URLs as they were given. The NIC is not part of it:
    another one is a change like others."""

    target: str
    peer: str


Series = dict[SeriesKey, list[SeriesPoint]]
DayRuns = list[float]
"""Values of the runs of one day, path and boot, in order of time."""


class DaysKnown(NamedTuple):
    """``runs``: total number of runs."""

    runs: int
    days: dict[SeriesKey, list[DayRuns]]


def series_of(state: Path, path: PathIdentity, workloads: Sequence[Workload]) -> Series:
    """The series of that path and work, for the metrics by which it is judged; empty if nothing was
    measured. Raises UsageError if the history cannot be read."""
    found: Series = defaultdict(list)
    for run in watched_runs(state):
        if (run.target, run.peer) == path:
            for key, value in run.of(workloads).values.items():
                found[key].append(SeriesPoint(run.time, value))
    return {key: sorted(readings) for key, readings in found.items()}


def days_of(
    state: Path, is_of_host: Callable[[WatchedRun], bool], workloads: Sequence[Workload]
) -> DaysKnown:
    """The runs of the latest days, in universal time. Raises UsageError if the history cannot be
    read, or contains an invalid endpoint."""
    runs = [run for run in watched_runs(state) if is_of_host(run)]
    since = max((run.time for run in runs), default=0.0) - MOST_DAYS * DAY
    used = 0
    found: defaultdict[SeriesKey, defaultdict[tuple[str, ...], DayRuns]]
    found = defaultdict(lambda: defaultdict(list))
    for run in sorted((run for run in runs if run.time > since), key=lambda one: one.time):
        seen = run.of(workloads)
        used += bool(seen.values)
        for key, value in seen.values.items():
            found[key][run.target, run.peer, seen.boot, str(run.time // DAY)].append(value)
    return DaysKnown(used, {key: list(days.values()) for key, days in found.items()})
