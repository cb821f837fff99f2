"""One line per run and metric, for spreadsheets, R and pandas. Runs that do not count are included
with the reason. Columns are stable: new ones are added at the end."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, BenchRun, Sample, Workload
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.writers import Options

FORMAT = "csv"
SUMMARY = "one line per run and metric, for spreadsheets"

COLUMNS = (
    "run", "profile", "design", "workload", "engine", "pattern", "direction", "connections",
    "generators", "size", "rate", "state", "arm", "block", "order", "boot", "started",
    "metric", "value", "unit", "better", "valid", "reason",
)  # fmt: skip

_Cell = str | int | float | None


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """A header, then the lines of one run at a time. Options have no effect."""
    del options
    workloads = {workload.id: workload for workload in result.workloads}
    yield lines([COLUMNS])
    for sample in result.samples:
        where = _run_columns(result.run, workloads[sample.workload], sample)
        yield lines((*where, *cells) for cells in _measured(sample))


def _run_columns(run: BenchRun, workload: Workload, sample: Sample) -> tuple[_Cell, ...]:
    return (
        run.id, run.profile, run.design, workload.id, workload.engine, workload.pattern,
        workload.direction, workload.connections, workload.generators, workload.size,
        workload.rate, workload.state, sample.arm, sample.block, sample.order, sample.boot,
        sample.started,
    )  # fmt: skip


def _measured(sample: Sample) -> Iterator[tuple[_Cell, ...]]:
    """One line per metric, or one line without a metric if nothing was measured."""
    end = str(sample.valid).lower(), sample.reason
    for metric, value in sample.values.items():
        known = METRICS.get(metric)
        unit, better = (known.unit, known.better) if known is not None else ("", "")
        yield metric, value, unit, better, *end
    if not sample.values:
        yield "", "", "", "", *end
