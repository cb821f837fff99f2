"""Tables of a measurement as HTML. All text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.cells import Cell
from vnicaudit.reports.bench.tables.dimensions import Matrix
from vnicaudit.reports.bench.tables.matrix_text import cells_of, row_of, state_of, title_of
from vnicaudit.reports.bench.tables.rows import Row
from vnicaudit.reports.bench.words.labels import STYLES, describe, metric_words, verdict_words
from vnicaudit.reports.safe import safe

_CAPTION = (
    "Medians; [a, b]: 95 % interval; (a to b): all runs, too few for an interval; effects: plus is "
    "better"
)


def text(value: str) -> str:
    """Text of a target as HTML: no markup, nothing that hides or reorders."""
    return escape(safe(value))


def measured_table(result: BenchResult, table: Sequence[Row]) -> Iterator[str]:
    """Workload by workload, a row per metric; of later arms the effect and the verdict."""
    compared = [arm for arm in result.arms if any(arm in row.compared for row in table)]
    heads = [*result.arms, *(f"{arm}: effect" for arm in compared)]
    yield _begin(_CAPTION, ["metric", *heads])
    workload = ""
    for row in table:
        if row.workload.id != workload:
            yield "</tbody>\n" if workload else ""
            workload = row.workload.id
            yield _group(row, len(heads) + 1)
        yield f'<tr><th scope="row">{text(metric_words(row.metric))}</th>'
        yield "".join(_measured(row, arm) for arm in result.arms)
        yield "".join(_compared(row.compared.get(arm)) for arm in compared)
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def matrix_table(matrix: Matrix) -> Iterator[str]:
    """vCPUs, server options, numbers of generators."""
    yield _begin(title_of(matrix), ["", *map(state_of, matrix.states)])
    yield "<tbody>\n"
    for row in matrix.rows:
        found = "".join(f"<td>{text(cell)}</td>" for cell in cells_of(matrix, row))
        yield f'<tr><th scope="row">{text(row_of(row))}</th>{found}</tr>\n'
    yield "</tbody></table></div>\n"


def plain_table(
    caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]]
) -> Iterator[str]:
    """Words in columns; the first is the head of its row."""
    yield _begin(caption, heads, words=True)
    yield "<tbody>\n"
    for first, *rest in lines:
        found = "".join(f'<td class="text">{text(cell)}</td>' for cell in rest)
        yield f'<tr><th scope="row">{text(first)}</th>{found}</tr>\n'
    yield "</tbody></table></div>\n"


def _begin(caption: str, heads: Sequence[str], *, words: bool = False) -> str:
    shown = "".join(
        f'<th scope="col"{_left(words or not at)}>{text(head)}</th>'
        for at, head in enumerate(heads)
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}"><table>\n'
        f"<caption>{text(caption)}</caption>\n<thead><tr>{shown}</tr></thead>\n"
    )


def _left(words: bool) -> str:
    return ' class="text"' if words else ""


def _group(row: Row, columns: int) -> str:
    name, about = text(row.workload.id), text(describe(row.workload))
    return (
        f'<tbody>\n<tr><th scope="rowgroup" colspan="{columns}">{name}'
        f"<small>{about}</small></th></tr>\n"
    )


def _measured(row: Row, arm: str) -> str:
    share = ""
    if cells.has_line_rate(row):
        share = f"<small>{_plain(cells.line_rate(row, arm))} of line rate</small>"
    return f"<td>{_stacked(cells.measured(row, arm))}{share}</td>"


def _compared(comparison: Comparison | None) -> str:
    if comparison is None:
        return "<td></td>"
    word = verdict_words(comparison.verdict)
    shown = f"<b>{word}</b>" if comparison.primary else f"({word})"
    style = STYLES[comparison.verdict] if comparison.primary else "quiet"
    notes = "".join(f"<small>{text(note)}</small>" for note in comparison.notes)
    effect = _stacked(cells.effect(comparison))
    return f'<td>{effect}<span class="{style}">{shown}</span>{notes}</td>'


def _stacked(cell: Cell) -> str:
    """The first part large, the others small below it."""
    first, *rest = (text(part.plain) for part in cell if part.plain)
    return f"<span>{first}</span>" + "".join(f"<small>{part}</small>" for part in rest)


def _plain(cell: Cell) -> str:
    return " ".join(text(part.plain) for part in cell)
