"""Metrics of a watched path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.bench.watching.state import SeriesState
from vnicaudit.reports.metrics.families import Family, Labels, gauge

MAX_SERIES = 100
"""Maximum series of a path: the first ones of its profile."""


def watch_families(path: str, states: Sequence[SeriesState], now: float) -> Iterator[Family]:
    """The families of the path with that name; ``now``: Unix time. Labels are that name and the
    profile's workloads and metrics, which never change from run to run."""
    shown = [(_labels(path, one), one) for one in states[:MAX_SERIES]]
    yield gauge("watch_value", "Value of the last valid run, in the unit of the metric.",
                ((labels, one.last.value) for labels, one in shown))  # fmt: skip
    yield gauge("watch_centre", "Median of a week's runs since the last change.",
                ((labels, one.result.centre) for labels, one in shown
                 if one.result.centre is not None))  # fmt: skip
    yield gauge("watch_change", "Change confirmed within the last week: -1 loss, 1 gain, 0 none.",
                ((labels, one.flag(now)) for labels, one in shown))  # fmt: skip
    yield gauge("watch_drifting", "1 if values drift from day to day, so no change can be dated.",
                ((labels, int(one.result.drifts)) for labels, one in shown))  # fmt: skip
    yield gauge("watch_age_seconds", "Age of the last valid run when this was written.",
                ((labels, max(0.0, now - one.last.time)) for labels, one in shown),
                "seconds")  # fmt: skip
    yield gauge("watch_run_timestamp_seconds", "Start of the last valid run, Unix time.",
                ((labels, one.last.time) for labels, one in shown), "seconds")  # fmt: skip


def _labels(path: str, one: SeriesState) -> Labels:
    return (("path", path), ("workload", one.key.workload), ("metric", one.key.metric))
