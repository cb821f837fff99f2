"""GitHub-flavoured Markdown, for comments on merge requests: the decision, then the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.counted import discarded, discarded_total
from vnicaudit.reports.bench.tables.dimensions import Matrix, matrices
from vnicaudit.reports.bench.tables.drops import drops
from vnicaudit.reports.bench.tables.matrix_text import cells_of, row_of, state_of, title_of
from vnicaudit.reports.bench.tables.rows import Row, rows
from vnicaudit.reports.bench.tables.summary import drop_words, facts, guard_total, rail_words
from vnicaudit.reports.bench.words.labels import (
    MEANINGS,
    decided,
    describe,
    metric_words,
    verdict_words,
)
from vnicaudit.reports.safe import markdown, markdown_code
from vnicaudit.reports.writer import Options

FORMAT = "markdown"
SUMMARY = "tables for comments on merge requests"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The comment in pieces; ``quiet`` leaves out how it was measured."""
    table = list(rows(result))
    yield "## vnicaudit bench\n\n"
    yield from _decision(result)
    for matrix in matrices([result]):
        yield from _matrix(matrix)
    yield from _table(result, table)
    if result.run.design == "paths":
        yield from _listed(
            "Where it drops, by medians", [drop_words(one) for one in drops(table, result)]
        )
    yield from _guard_rails(result)
    if not options.quiet:
        yield from _listed(discarded_total(result), list(discarded(result)))
        yield from _folded(result, table)


def _decision(result: BenchResult) -> Iterator[str]:
    decision = result.decision
    if decision is None:
        return
    yield f"**{markdown(decided(decision))}** ({markdown(MEANINGS[decision.verdict])})\n\n"
    for reason in decision.reasons:
        yield f"* {markdown(reason)}\n"
    if decision.reasons:
        yield "\n"


def _table(result: BenchResult, table: Sequence[Row]) -> Iterator[str]:
    if not table:
        return
    compared = result.arms[1:] if any(row.compared for row in table) else ()
    names = [markdown(arm) for arm in result.arms]
    heads = ["Workload", "Metric", *names]
    if len(compared) == 1:
        heads += ["Effect (plus is better)", "Verdict"]
    else:
        heads += [f"{markdown(arm)}: effect (plus is better)" for arm in compared]
    yield _line(heads) + _line(["---"] * len(heads))
    workload = ""
    for row in table:
        first = _workload(row) if row.workload.id != workload else ""
        workload = row.workload.id
        yield _line([first, markdown(metric_words(row.metric)), *_row(row, result.arms, compared)])
    yield "\n"


def _workload(row: Row) -> str:
    return f"{markdown_code(row.workload.id)}<br>{markdown(describe(row.workload))}"


def _row(row: Row, arms: Sequence[str], compared: Sequence[str]) -> Iterator[str]:
    for arm in arms:
        text = _joined(cells.measured(row, arm))
        if cells.has_line_rate(row):
            text += f"<br>{_joined(cells.line_rate(row, arm))} of line rate"
        yield text
    for arm in compared:
        found = _compared(row.compared.get(arm))
        yield from found if len(compared) == 1 else ["<br>".join(filter(None, found))]


def _compared(comparison: Comparison | None) -> list[str]:
    """The effect and the verdict, bold where it decides, with its notes."""
    if comparison is None:
        return ["", ""]
    word = verdict_words(comparison.verdict)
    notes = "".join(f"<br>{markdown(note)}" for note in comparison.notes)
    return [
        _joined(cells.effect(comparison)),
        (f"**{word}**" if comparison.primary else f"({word})") + notes,
    ]


def _joined(cell: cells.Cell) -> str:
    return markdown(" ".join(part.plain for part in cell if part.plain))


def _matrix(matrix: Matrix) -> Iterator[str]:
    yield f"{markdown(title_of(matrix))}\n\n"
    heads = ["", *(markdown(state_of(state)) for state in matrix.states)]
    yield _line(heads) + _line(["---"] * len(heads))
    for row in matrix.rows:
        yield _line([markdown(row_of(row)), *map(markdown, cells_of(matrix, row))])
    yield "\n"


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


def _folded(result: BenchResult, table: Sequence[Row]) -> Iterator[str]:
    yield "<details><summary>How it was measured</summary>\n\n"
    for label, text in facts(result, table):
        yield f"* {markdown(label)}: {markdown(text)}\n"
    yield "\n</details>\n"


def _line(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |\n"
