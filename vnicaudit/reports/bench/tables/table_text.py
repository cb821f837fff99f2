"""The tables of a measurement for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.dimensions import Matrix, matrix_table
from vnicaudit.reports.bench.tables.rows import MetricRow, drops
from vnicaudit.reports.bench.words.labels import describe, metric_words
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, safe, title_line, wrap
from vnicaudit.reports.table import model
from vnicaudit.reports.table.model import (
    Cell,
    Grid,
    Group,
    Part,
    Table,
    TableLine,
    cell_text,
    piece_of,
)

_INDENT = 2
_HANG = "      "


def matrix_lines(matrix: Matrix, options: Options, paint: Paint) -> Iterator[str]:
    """A title, and one line per row; sentences if the table does not fit."""
    table = matrix_table(matrix)
    text = wrap(safe(table.caption), options.width, "", "  ")
    yield "".join(paint("name", line) + "\n" for line in text.splitlines())
    header = TableLine(tuple((Part(head, style="quiet"),) for head in table.heads))
    grid = Grid(
        [header, *(TableLine(row.cells) for row in table.rows)],
        options.width,
        paint,
        indent=_INDENT,
    )
    if grid.fits:
        yield from grid.text()
        return
    for row in table.rows:
        name, *values = map(cell_text, row.cells)
        pairs = zip(table.heads[1:], values, strict=True)
        pieces = [Part(name), *(Part(f"{state} {value}") for state, value in pairs)]
        yield fold([piece_of(piece, paint) for piece in pieces], options.width, "  ", "    ", "  ")


class TableText:
    """Workload by workload, one line per metric: the median and interval of each arm. With two
    arms, followed by effect and verdict; with more, the change of each against the first."""

    def __init__(self, result: BenchResult, table: Sequence[MetricRow], options: Options) -> None:
        self._arms = result.arms
        self._table = table
        self._options = options
        self._paint = Paint(color=options.color)
        self._pair = len(result.arms) == 2 and any(row.compared for row in table)
        found = drops(table, result) if len(result.arms) > 2 else ()
        self._drops = {(drop.row.workload.id, drop.row.metric, drop.lower) for drop in found}

    def lines(self) -> Iterator[str]:
        """The table; sentences if it does not fit the terminal."""
        if not self._table:
            return
        left = 1 if self._pair else 0
        grid = Grid(self._lines(), self._options.width, self._paint, indent=_INDENT, left=left)
        if grid.fits:
            yield from grid.text()
        else:
            yield from self._spelled_out()
        if not self._options.quiet:
            yield wrap("; ".join(self._legend()), self._options.width, "  ", "  ")

    def _legend(self) -> Iterator[str]:
        sure = {
            cells.median_parts(row, arm)[-1].text[:1] for row in self._table for arm in self._arms
        }
        if "[" in sure:
            yield "[a, b]: 95 % interval"
        if "(" in sure:
            yield "(a to b): all runs, too few for an interval"
        compared = [one for row in self._table for one in row.compared.values()]
        if not all(one.primary for one in compared):
            yield "(verdict): shown, nothing is decided on it"
        if any(one.effect is not None for one in compared):
            yield "arms: medians; effect: estimated from all runs, plus is better"
        if self._drops:
            yield "▼: the largest step for the worse, from the path before"

    def _lines(self) -> Iterator[TableLine]:
        yield TableLine(tuple(self._header()))
        workload = ""
        for row in self._table:
            if row.workload.id != workload:
                workload = row.workload.id
                yield TableLine(text=self._title(row))
            yield TableLine(tuple(self._row(row)))
            if cells.has_line_rate(row):
                yield TableLine(tuple(self._line_rate(row)))
            yield from (TableLine(text=note) for note in self._notes(row))

    def _header(self) -> Iterator[Cell]:
        yield ""
        for arm in self._arms:
            yield (Part(arm, style="name"),)
        if self._pair:
            yield (Part("effect", style="quiet"),)
            yield ""

    def _title(self, row: MetricRow) -> str:
        name = safe(row.workload.id)
        about = safe(describe(row.workload))
        return title_line(Piece(name, self._paint("name", name)), about, self._options.width)

    def _row(self, row: MetricRow) -> Iterator[Cell]:
        yield metric_words(row.metric)
        for at, arm in enumerate(self._arms):
            cell = cells.median_parts(row, arm)
            if at and len(self._arms) > 2:
                cell = (*cell, *self._against_first(row, arm))
            yield cell
        if self._pair:
            comparison = row.compared.get(self._arms[1])
            yield cells.effect(comparison)
            yield cells.verdict(comparison)

    def _against_first(self, row: MetricRow, arm: str) -> cells.Parts:
        comparison = row.compared.get(arm)
        mark = "▼ " if (row.workload.id, row.metric, arm) in self._drops else ""
        if comparison is None:
            return (Part("▼"),) if mark else ()
        return Part(f"{mark}{cells.effect_words(comparison)}"), *cells.verdict(comparison)

    def _line_rate(self, row: MetricRow) -> Iterator[Cell]:
        yield "  of line rate"
        for arm in self._arms:
            yield cells.line_rate(row, arm)

    def _notes(self, row: MetricRow) -> Iterator[str]:
        if self._options.quiet:
            return
        for arm, comparison in row.compared.items():
            who = f"{arm}: " if len(self._arms) > 2 else ""
            for note in comparison.notes:
                text = f"{metric_words(row.metric)}: {who}{note}"
                yield wrap(safe(text), self._options.width, "    ", _HANG)

    def _spelled_out(self) -> Iterator[str]:
        workload = ""
        for row in self._table:
            if row.workload.id != workload:
                workload = row.workload.id
                yield self._title(row)
            pieces = [piece_of(part, self._paint) for part in self._sentence(row)]
            yield fold(pieces, self._options.width, "  ", "    ", "  ")
            yield from self._notes(row)

    def _sentence(self, row: MetricRow) -> Iterator[Part]:
        yield Part(metric_words(row.metric), style="name")
        for arm in self._arms:
            yield Part(f"{arm} {cell_text(cells.median_parts(row, arm))}")
            if cells.has_line_rate(row):
                yield Part(f"{arm} {cells.line_rate(row, arm)} of line rate")
            if arm in row.compared:
                yield Part(cell_text(cells.effect(row.compared[arm])))
                yield from cells.verdict(row.compared[arm])


def measured_table(
    rows: Sequence[MetricRow],
    heads: Sequence[str],
    arms: Sequence[str],
    compared: Sequence[str],
    *,
    caption: str = "",
    apart: bool = False,
) -> Table:
    """Table of the values of each of ``arms``, with effect and verdict of those ``compared``;
    ``apart``: in separate columns."""
    found = (
        model.Row(
            (
                metric_words(row.metric),
                *(_measured(row, arm) for arm in arms),
                *(cell for arm in compared for cell in _compared(row.compared.get(arm), apart)),
            ),
            _group(rows, at),
        )
        for at, row in enumerate(rows)
    )
    return Table(caption, tuple(heads), tuple(found), grouped_by="Workload")


def _group(rows: Sequence[MetricRow], at: int) -> Group | None:
    """A heading for the workload, if it differs from that of the row before."""
    workload = rows[at].workload
    if at and rows[at - 1].workload.id == workload.id:
        return None
    return Group(workload.id, describe(workload))


def _measured(row: MetricRow, arm: str) -> Cell:
    share = f"{cells.line_rate(row, arm)} of line rate"
    return (
        *cells.median_parts(row, arm),
        *([Part(share, "note")] if cells.has_line_rate(row) else []),
    )


def _compared(comparison: Comparison | None, apart: bool) -> Iterator[Cell]:
    found = () if comparison is None else cells.effect(comparison)
    verdict = (*cells.verdict(comparison), *cells.notes(comparison))
    yield from (found, verdict) if apart else ((*found, *verdict),)
