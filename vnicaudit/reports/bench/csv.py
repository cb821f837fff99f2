"""One line per run and metric, for spreadsheets, R and pandas. Runs that do not count are there and
say why. Columns are stable: new ones go last."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, BenchRun, Sample, Workload
from vnicaudit.reports.safe import csv_cell
from vnicaudit.reports.writer import Options

FORMAT = "csv"
SUMMARY = "one line per run and metric, for spreadsheets"

COLUMNS = (
    "run", "profile", "design", "workload", "engine", "pattern", "direction", "connections",
    "generators", "size", "rate", "state", "arm", "block", "order", "boot", "started",
    "metric", "value", "unit", "better", "valid", "reason",
)  # fmt: skip


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """A header, then the lines of one run at a time; no option changes what it says."""
    del options
    workloads = {workload.id: workload for workload in result.workloads}
    yield _lines([COLUMNS])
    for sample in result.samples:
        where = _where(result.run, workloads[sample.workload], sample)
        yield _lines([*where, *cells] for cells in _measured(sample))


def _where(run: BenchRun, workload: Workload, sample: Sample) -> list[str]:
    return [
        _cell(cell)
        for cell in (
            run.id, run.profile, run.design, workload.id, workload.engine, workload.pattern,
            workload.direction, workload.connections, workload.generators, workload.size,
            workload.rate, workload.state, sample.arm, sample.block, sample.order, sample.boot,
            sample.started,
        )
    ]  # fmt: skip


def _measured(sample: Sample) -> Iterator[list[str]]:
    """A line per metric, or one without any where nothing was measured."""
    end = [str(sample.valid).lower(), _cell(sample.reason)]
    for metric, value in sample.values.items():
        known = METRICS.get(metric)
        unit, better = (known.unit, known.better) if known is not None else ("", "")
        yield [_cell(metric), _cell(value), unit, better, *end]
    if not sample.values:
        yield ["", "", "", "", *end]


def _cell(value: str | int | float | None) -> str:
    if value is None:
        return ""
    return csv_cell(value) if isinstance(value, str) else repr(value)


def _lines(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    # all in quotes: where a semicolon separates, a cell would end at one
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()
