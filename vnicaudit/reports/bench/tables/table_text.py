"""The table of a measurement for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.cells import Cell
from vnicaudit.reports.bench.tables.drops import drops
from vnicaudit.reports.bench.tables.grid import Grid, Line, plain
from vnicaudit.reports.bench.tables.rows import Row
from vnicaudit.reports.bench.words.labels import describe, metric_words
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import Piece, fold, titled, wrap
from vnicaudit.reports.writer import Options

_INDENT = 2
_HANG = "      "


class TableText:
    """Workload by workload, a line per metric: each arm's median and interval; of two arms the
    effect and the verdict beside them, of more the change of each against the first."""

    def __init__(self, result: BenchResult, table: Sequence[Row], options: Options) -> None:
        self._arms = result.arms
        self._table = table
        self._options = options
        self._paint = Paint(color=options.color)
        self._pair = len(result.arms) == 2 and any(row.compared for row in table)
        found = drops(table, result) if len(result.arms) > 2 else ()
        self._drops = {(drop.row.workload.id, drop.row.metric, drop.lower) for drop in found}

    def lines(self) -> Iterator[str]:
        """The table; where it does not fit the terminal, the same in sentences."""
        if not self._table:
            return
        left = 1 if self._pair else 0
        grid = Grid(list(self._lines()), self._options.width, indent=_INDENT, left=left)
        if grid.fits:
            yield from grid.text()
        else:
            yield from self._spelled_out()
        if not self._options.quiet:
            yield wrap("; ".join(self._legend()), self._options.width, "  ", "  ")

    def _legend(self) -> Iterator[str]:
        sure = {cells.measured(row, arm)[-1].plain[:1] for row in self._table for arm in self._arms}
        if "[" in sure:
            yield "[a, b]: 95 % interval"
        if "(" in sure:
            yield "(a to b): all runs, too few for an interval"
        compared = [one for row in self._table for one in row.compared.values()]
        if not all(one.primary for one in compared):
            yield "(verdict): shown, nothing is decided on it"
        if any(one.effect is not None for one in compared):
            yield "effect: plus is better"
        if self._drops:
            yield "▼: the largest step for the worse, from the path before"

    def _lines(self) -> Iterator[Line]:
        yield Line(tuple(self._header()))
        workload = ""
        for row in self._table:
            if row.workload.id != workload:
                workload = row.workload.id
                yield Line(text=self._title(row))
            yield Line(tuple(self._row(row)))
            if cells.has_line_rate(row):
                yield Line(tuple(self._line_rate(row)))
            yield from (Line(text=note) for note in self._notes(row))

    def _header(self) -> Iterator[Cell]:
        quiet = partial(self._paint, "quiet")
        yield (plain(""),)
        for arm in self._arms:
            yield (Piece(safe(arm), self._paint("name", safe(arm))),)
        if self._pair:
            yield (Piece("effect", quiet("effect")),)
            yield (plain(""),)

    def _title(self, row: Row) -> str:
        name = safe(row.workload.id)
        about = safe(describe(row.workload))
        return titled(Piece(name, self._paint("name", name)), about, self._options.width)

    def _row(self, row: Row) -> Iterator[Cell]:
        yield (plain(safe(metric_words(row.metric))),)
        for at, arm in enumerate(self._arms):
            cell = cells.measured(row, arm)
            if at and len(self._arms) > 2:
                cell = (*cell, *self._against_first(row, arm))
            yield cell
        if self._pair:
            comparison = row.compared.get(self._arms[1])
            yield cells.effect(comparison)
            yield cells.verdict(comparison, self._paint)

    def _against_first(self, row: Row, arm: str) -> Cell:
        comparison = row.compared.get(arm)
        mark = "▼ " if (row.workload.id, row.metric, arm) in self._drops else ""
        if comparison is None:
            return (plain("▼"),) if mark else ()
        change = f"{mark}{cells.effect_words(comparison)}"
        return plain(change), *cells.verdict(comparison, self._paint)

    def _line_rate(self, row: Row) -> Iterator[Cell]:
        yield (plain("  of line rate"),)
        for arm in self._arms:
            yield cells.line_rate(row, arm)

    def _notes(self, row: Row) -> Iterator[str]:
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
            yield fold(self._said(row), self._options.width, "  ", "    ", "  ")
            yield from self._notes(row)

    def _said(self, row: Row) -> Iterator[Piece]:
        name = safe(metric_words(row.metric))
        yield Piece(name, self._paint("name", name))
        for arm in self._arms:
            yield plain(f"{safe(arm)} {_beside(cells.measured(row, arm))}")
            if cells.has_line_rate(row):
                share = _beside(cells.line_rate(row, arm))
                yield plain(f"{safe(arm)} {share} of line rate")
            if arm in row.compared:
                yield plain(_beside(cells.effect(row.compared[arm])))
                yield from cells.verdict(row.compared[arm], self._paint)


def _beside(cell: Cell) -> str:
    return " ".join(part.plain for part in cell if part.plain)
