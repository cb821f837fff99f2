"""The report of a measurement for people, as sections. Text, Markdown and HTML render them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult, Comparison, Setup
from vnicaudit.reports.bench.cpu import cpu_sections
from vnicaudit.reports.bench.labels import (
    STYLES,
    describe,
    metric_words,
    percent,
    verdict_words,
    with_guest_names,
)
from vnicaudit.reports.bench.matrix import matrices, matrix_table
from vnicaudit.reports.bench.rows import (
    MetricRow,
    discard_sentences,
    discarded_total,
    effect_parts,
    facts,
    guard_total,
    median_parts,
    rail_words,
    rows,
)
from vnicaudit.reports.bench.steps import drop_section
from vnicaudit.reports.bench.verdict import verdicts
from vnicaudit.reports.model import Cell, Group, Part, ReportSection, Row, Table
from vnicaudit.reports.safe import hidden
from vnicaudit.reports.writers import Options

_MOST_REASONS = 20
_CAPTION = (
    "Medians; [a, b]: 95 % interval; (a to b): all runs, too few for an interval; of line: of what "
    "the line rate allows; effects: estimated from all runs, plus is better; (verdict): nothing is "
    "decided on it"
)


def sections(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    """The report. ``quiet``: the verdict, the tables, and guard rails that do not hold;
    ``verbose``: also each guard rail, every reason, and facts about the endpoints."""
    result = with_guest_names(result)
    table = list(rows(result))
    yield from verdicts(result, table, quiet=options.quiet)
    if result.run.design == "paths":
        yield drop_section(result)
    yield from cpu_sections(result)
    yield from _measured(result, table)
    yield from _guard_rails(result, options)
    if not options.quiet:
        yield from _discarded(result, options)
        yield ReportSection(
            title="How it was measured", about=(result.run.id, f"profile {result.run.profile}"),
            pairs=tuple(facts(result, table)), aside=True,
        )  # fmt: skip
        yield from map(_environment, result.environment if options.verbose else ())


def _measured(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[ReportSection]:
    tables = [matrix_table(matrix) for matrix in matrices([result])]
    tables += [measured_table(table, result.arms)] if table else []
    if tables:
        yield ReportSection(title="What was measured", tables=tuple(tables))


def _guard_rails(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    rails = result.guard_rails
    wanted = [rail for rail in rails if options.verbose or rail.verdict != "ok"]
    if rails and (wanted or not options.quiet):
        items = tuple(f"{rail.verdict}: {rail_words(rail)}" for rail in wanted)
        yield ReportSection(title=guard_total(rails), items=items)


def _discarded(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    total = discarded_total(result)
    reasons = list(discard_sentences(result))
    shown = reasons if options.verbose else reasons[:_MOST_REASONS]
    if len(shown) < len(reasons):
        shown.append(hidden(len(reasons) - len(shown), "reasons"))
    if total:
        yield ReportSection(title=total, items=tuple(shown))


def _environment(setup: Setup) -> ReportSection:
    unknown = ((name, f"unknown: {why}") for name, why in setup.unknown.items())
    pairs = (*setup.facts.items(), *unknown)
    return ReportSection(title=f"Found at {setup.endpoint}", pairs=pairs, aside=True)


# The table of everything measured.


def measured_table(rows: Sequence[MetricRow], arms: Sequence[str]) -> Table:
    """Workload by workload, a row for each metric: the median of each arm with its interval; with
    two arms the effect and the verdict, with more those of each beside its median."""
    pair = len(arms) == 2 and any(row.compared for row in rows)
    found = tuple(
        Row(tuple(_cells(row, arms, pair=pair)), _group(rows, at)) for at, row in enumerate(rows)
    )
    heads = ("metric", *arms, *(("effect", "verdict") if pair else ()))
    return Table(_CAPTION, heads, found, grouped_by="Workload")


def _cells(row: MetricRow, arms: Sequence[str], *, pair: bool) -> Iterator[Cell]:
    yield metric_words(row.metric)
    for arm in arms:
        compared = () if pair or arm not in row.compared else _compared(row.compared[arm])
        yield (
            *median_parts(row, arm),
            *_line_rate(row, arm),
            *(p for cell in compared for p in cell),
        )
    if pair:
        yield from _compared(row.compared[arms[1]]) if arms[1] in row.compared else ("", "")


def _group(rows: Sequence[MetricRow], at: int) -> Group | None:
    """A heading for the workload, if it differs from that of the row before."""
    workload = rows[at].workload
    if at and rows[at - 1].workload.id == workload.id:
        return None
    return Group(workload.id, describe(workload))


def _line_rate(row: MetricRow, arm: str) -> Iterator[Part]:
    summary = row.arms.get(arm)
    if summary is not None and summary.line_rate_percent is not None:
        yield Part(f"{percent(summary.line_rate_percent)} of line", "aside")


def _compared(comparison: Comparison) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The effect with its interval; the verdict, in parentheses if it did not count for the
    decision, with its notes."""
    word = verdict_words(comparison)
    verdict = Part(word, style=STYLES[comparison.verdict], strong=True)
    if not comparison.primary:
        verdict = Part(f"({word})", style="quiet")
    return effect_parts(comparison), (verdict, *(Part(note, "note") for note in comparison.notes))
