"""The formats of a measurement.

Text, Markdown and HTML render its sections (:mod:`vnicaudit.reports.bench.sections`); the others
are for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vnicaudit.base.deadlines import seconds_between
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, BenchRun, Sample, Workload
from vnicaudit.reports import as_markdown
from vnicaudit.reports.as_text import table_text, text_of
from vnicaudit.reports.bench.html import page
from vnicaudit.reports.bench.matrix import all_matrices, matrix_table
from vnicaudit.reports.bench.reading import pieces
from vnicaudit.reports.bench.rows import values_that_count
from vnicaudit.reports.bench.sections import sections
from vnicaudit.reports.metrics import Labels, gauge, written
from vnicaudit.reports.safe import csv_lines
from vnicaudit.reports.writers import Options


def to_text(result: BenchResult, options: Options) -> Iterator[str]:
    """The verdict, the tables, and how it was measured."""
    return text_of(sections(result, options), options)


def to_markdown(result: BenchResult, options: Options) -> Iterator[str]:
    """A comment on a merge request."""
    yield "## vnicaudit bench\n\n"
    for section in sections(result, options):
        yield from as_markdown.section_text(section)


def to_html(result: BenchResult, options: Options) -> Iterator[str]:
    """One page that needs no other file."""
    return page(result, options)


def to_json(result: BenchResult, options: Options) -> Iterator[str]:
    """``vnicaudit.bench/1``: everything, for ``bench compare`` too. The
    schema is in ``docs/schemas/``."""
    del options
    return pieces(result)


def tables(results: Sequence[BenchResult], options: Options, *, markdown: bool) -> Iterator[str]:
    """Several measurements as tables, one for each kind of work, by NIC, vCPUs, server option and
    number of generators."""
    for table in map(matrix_table, all_matrices(results)):
        yield from as_markdown.table_text(table) if markdown else table_text(table, options)
        yield "" if markdown else "\n"


COLUMNS = (
    "run", "profile", "design", "workload", "engine", "pattern", "direction", "connections",
    "generators", "size", "rate", "state", "arm", "block", "order", "boot", "started",
    "metric", "value", "unit", "better", "valid", "reason",
)  # fmt: skip

_Cell = str | int | float | None


def to_csv(result: BenchResult, options: Options) -> Iterator[str]:
    """A header, then one line per run and metric. Runs that do not count are included with the
    reason. Columns are stable: new ones are added at the end."""
    del options
    workloads = {workload.id: workload for workload in result.workloads}
    yield csv_lines([COLUMNS])
    for sample in result.samples:
        where = _run_columns(result.run, workloads[sample.workload], sample)
        yield csv_lines((*where, *cells) for cells in _measured(sample))


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


def to_prometheus(result: BenchResult, options: Options) -> Iterator[str]:
    """Medians, which a scheduled `bench run` writes for node_exporter, and alert rules compare with
    those of the days before (``templates/prometheus``). The label ``path`` is the name of the
    path, or of the arm; ``better``: ``higher`` or ``lower``."""
    del options
    yield from written(
        [
            gauge("bench_value", "Median of the runs that count, in the unit of the metric.",
                  _values(result)),
            gauge("bench_run_timestamp_seconds", "Start of the measurement, Unix time.",
                  _started(result)),
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


RENDERERS: dict[str, Callable[[BenchResult, Options], Iterator[str]]] = {
    "csv": to_csv, "html": to_html, "json": to_json, "markdown": to_markdown,
    "prometheus": to_prometheus, "text": to_text,
}  # fmt: skip
