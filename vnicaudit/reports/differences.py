"""Differences between two audits or two reports, as text, JSON, CSV or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from vnicaudit.reports.as_markdown import table_text
from vnicaudit.reports.as_text import GAP, Pen
from vnicaudit.reports.model import Cell, Row, Table, cell_text
from vnicaudit.reports.safe import aligned, csv_lines, fold, markdown
from vnicaudit.reports.writers import Options


class Differences(NamedTuple):
    """Everything that is written. ``record``: the JSON document; ``tables``: differences of one
    kind each, ``more``: those shown with ``--verbose`` only; ``csv``: its lines."""

    record: msgspec.Struct
    head: str
    notes: Sequence[str]
    tables: Sequence[Table]
    csv: Sequence[Sequence[str | None]]
    more: Sequence[Table] = ()


def table_of(title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Differences of one kind."""
    return Table(title, tuple(heads), tuple(Row(tuple(row)) for row in rows), words=True)


def as_text(one: Differences, options: Options) -> Iterator[str]:
    """The head and the notes, then each table: two lines for each row, the second one for its last
    cell."""
    pen = Pen(options)
    yield pen.say(one.head)
    yield from (pen.say(f"Note: {note}") for note in one.notes)
    for table in (*one.tables, *(one.more if options.verbose else ())):
        yield f"\n{pen.paint('name', table.caption)}:\n"
        for cells, row in zip(
            aligned(pen.cells(row.cells[:-1]) for row in table.rows), table.rows, strict=True
        ):
            yield fold(cells, options.width, "  ", "    ", GAP)
            yield pen.say(cell_text(row.cells[-1]) or "-", 4, 0)


def as_json(one: Differences, options: Options) -> Iterator[str]:
    """The whole record."""
    del options
    yield msgspec.json.format(msgspec.json.encode(one.record)).decode() + "\n"


def as_csv(one: Differences, options: Options) -> Iterator[str]:
    """One line for each difference."""
    del options
    yield csv_lines(one.csv)


def as_markdown(one: Differences, options: Options) -> Iterator[str]:
    """For a comment or an issue: the head, and each table."""
    del options
    yield f"{markdown(one.head)}\n\n"
    yield from (f"Note: {markdown(note)}\n\n" for note in one.notes)
    for table in one.tables:
        yield from table_text(table)


FORMATS: dict[str, Callable[[Differences, Options], Iterator[str]]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "markdown": as_markdown,
}  # fmt: skip
