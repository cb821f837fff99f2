"""A watched path after a run: each series, its last value and its changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vnicaudit.bench.judging.effect import margin_of
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.bench.watching.changes import (
    DAY,
    ChangePoint,
    SeriesJudgement,
    SeriesPoint,
    judge_series,
)
from vnicaudit.bench.watching.series import PathIdentity, series_of
from vnicaudit.bench.watching.watched_runs import SeriesKey
from vnicaudit.model.measurement import Workload

FLAGGED = 7 * DAY
"""A change is shown by the flag of the metrics for that long after its confirmation."""


class SeriesState(NamedTuple):
    """``runs``: number in the history; ``last``: the newest one."""

    key: SeriesKey
    runs: int
    last: SeriesPoint
    result: SeriesJudgement

    @property
    def metric(self) -> Metric:
        """The metric of the series."""
        return METRICS[self.key.metric]

    @property
    def change(self) -> ChangePoint | None:
        """The newest confirmed change."""
        return self.result.changes[-1] if self.result.changes else None

    def is_new(self) -> bool:
        """True if the last run was the look that confirmed the newest change."""
        return self.change is not None and self.change.confirmed == self.last.time

    def flag(self, now: float) -> int:
        """-1 for a loss, 1 for a gain that was confirmed within a week of ``now``; else 0."""
        if self.change is None or now - self.change.confirmed > FLAGGED:
            return 0
        return -1 if self.change.worse else 1


def states_of(
    state: Path, path: PathIdentity, workloads: Sequence[Workload], margins: Mapping[str, float]
) -> Iterator[SeriesState]:
    """The series of a path, in the order of its workloads; ``margins``: a profile's. Raises
    UsageError if the history cannot be read."""
    series = series_of(state, path, workloads)
    for workload in workloads:
        for name in workload.decides:
            key = SeriesKey(workload.id, name)
            if readings := series.get(key):
                result = judge_series(readings, METRICS[name], margin_of(METRICS[name], margins))
                yield SeriesState(key, len(readings), readings[-1], result)
