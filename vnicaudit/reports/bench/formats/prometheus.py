"""Medians for Prometheus: a scheduled `bench run` writes them for node_exporter, and alert rules
compare them with those of the days before (``templates/prometheus``)."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.deadlines import seconds_between
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.rows import values_that_count
from vnicaudit.reports.metrics import Labels, gauge, written
from vnicaudit.reports.writers import Options

FORMAT = "prometheus"
SUMMARY = "medians of each metric, for node_exporter"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The text, one family at a time. Options have no effect. The label ``path`` is the name of the
    path, or of the arm; ``better``: ``higher`` or ``lower``."""
    del options
    yield from written(
        [
            gauge("bench_value", "Median of the runs that count, in the unit of the metric.",
                  _values(result)),
            gauge("bench_run_timestamp_seconds", "Start of the measurement, Unix time.",
                  _started(result), "seconds"),
        ]
    )  # fmt: skip


def _values(result: BenchResult) -> Iterator[tuple[Labels, float]]:
    for (workload, metric, arm), values in values_that_count(result).items():
        if values and metric in METRICS:
            labels = ("path", arm), ("workload", workload), ("metric", metric)
            yield (*labels, ("better", METRICS[metric].better)), median(values)


def _started(result: BenchResult) -> Iterator[tuple[Labels, float]]:
    seconds = seconds_between("1970-01-01T00:00:00Z", result.run.started)
    if seconds is not None:
        yield from (((("path", arm),), seconds) for arm in result.arms)
