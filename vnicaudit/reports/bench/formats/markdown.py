"""GitHub-flavoured Markdown, for comments on merge requests: the verdict, then the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.tables.rows import (
    MetricRow,
    discard_sentences,
    discarded_total,
    drop_words,
    drops,
    facts,
    guard_total,
    rail_words,
    rows,
)
from vnicaudit.reports.bench.tables.table_text import (
    all_matrices,
    matrices,
    matrix_table,
    measured_table,
)
from vnicaudit.reports.bench.verdict.block import VerdictBlock, verdict_blocks
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine
from vnicaudit.reports.bench.words.labels import decision_words, with_guest_names
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import markdown
from vnicaudit.reports.table.markdown import table_text
from vnicaudit.reports.table.model import Cell, Part, Row, Table

FORMAT = "markdown"
SUMMARY = "tables for comments on merge requests"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The comment in pieces. ``quiet`` leaves out how it was measured."""
    result = with_guest_names(result)
    table = list(rows(result))
    yield "## vnicaudit bench\n\n"
    for block in verdict_blocks(result, table):
        yield from _verdict(block._replace(remarks=()) if options.quiet else block)
    yield from _decision(result)
    for matrix in matrices([result]):
        yield from table_text(matrix_table(matrix))
    yield from _table(result, table)
    if result.run.design == "paths":
        yield from _listed(
            "Where it drops, by medians", [drop_words(one) for one in drops(table, result)]
        )
    yield from _guard_rails(result)
    if not options.quiet:
        yield from _listed(discarded_total(result), list(discard_sentences(result)))
        yield from _folded(result, table)


def tables(results: Sequence[BenchResult]) -> Iterator[str]:
    """Several measurements as tables, one for each kind of work, by NIC, vCPUs, server option and
    number of generators."""
    for matrix in all_matrices(results):
        yield from table_text(matrix_table(matrix))


def _verdict(block: VerdictBlock) -> Iterator[str]:
    """The verdict and its subject, a small table, the reasons, and what to do next."""
    about = ", ".join(filter(None, (block.subject, block.effort)))
    yield f"**{block.word}** {markdown(about)}\n\n"
    if block.lines:
        yield from table_text(verdict_table(block))
    for said in (*block.reasons, *block.next, *block.remarks):
        yield f"* {markdown(said)}\n"
    yield "\n" if (*block.reasons, *block.next, *block.remarks) else ""


def _decision(result: BenchResult) -> Iterator[str]:
    decision = result.decision
    if decision is None:
        return
    yield f"**{markdown(''.join(decision_words(result, decision)))}**\n\n"
    for reason in decision.reasons:
        yield f"* {markdown(reason)}\n"
    if decision.reasons:
        yield "\n"


def _table(result: BenchResult, rows: Sequence[MetricRow]) -> Iterator[str]:
    if not rows:
        return
    compared = result.arms[1:] if any(row.compared for row in rows) else ()
    apart = len(compared) == 1
    effects = [f"{arm}: effect (plus is better)" for arm in compared]
    heads = ["Effect (plus is better)", "Verdict"] if apart else effects
    heads = ["Metric", *result.arms, *heads]
    yield from table_text(measured_table(rows, heads, result.arms, compared, apart=apart))


def _guard_rails(result: BenchResult) -> Iterator[str]:
    rails = [rail for rail in result.guard_rails if rail.verdict != "ok"]
    if result.guard_rails:
        yield from _listed(
            guard_total(result.guard_rails),
            [f"{rail.verdict}: {rail_words(rail)}" for rail in rails],
        )


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if not title:
        return
    yield f"{markdown(title)}\n\n"
    yield from (f"* {markdown(item)}\n" for item in items)
    if items:
        yield "\n"


def _folded(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[str]:
    yield "<details><summary>How it was measured</summary>\n\n"
    for label, text in facts(result, table):
        yield f"* {markdown(label)}: {markdown(text)}\n"
    yield "\n</details>\n"


def verdict_table(block: VerdictBlock) -> Table:
    """One row per line: the median of each arm, and the change if something is compared."""
    compared = any(line.outcome for line in block.lines)
    heads = ("Medians", *block.arms, *(("Change (95 %, plus is better)",) if compared else ()))
    return Table("", heads, tuple(Row(_cells(line, len(heads))) for line in block.lines))


def _cells(line: VerdictLine, width: int) -> tuple[Cell, ...]:
    values: list[Cell] = [*line.values]
    if line.outcome:
        outcome = Part(line.outcome, style=line.style, strong=True)
        values.append((Part(line.change), Part(line.interval, "aside"), outcome))
    elif line.interval and values:
        values[0] = (Part(line.values[0]), Part(line.interval, "aside"))
    padding = [""] * (width - 1 - len(values))
    return (line.name, *values, *padding)
