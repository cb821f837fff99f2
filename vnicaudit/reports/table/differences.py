"""Differences between two audits or two reports, as text, JSON, CSV or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from vnicaudit.reports.safe import Paint, fold, markdown, safe, wrap
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.table.markdown import table_text
from vnicaudit.reports.table.model import Part, Row, Table, columns
from vnicaudit.reports.writers import Options

# Rows of words and numbers below column heads.


Value = str | int | Part | None


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Value]],
    options: Options,
    *,
    numbers: Collection[int] = (),
) -> Iterator[str]:
    """The heads and the rows, one line each, folded if the terminal is narrow. ``numbers``:
    right-aligned columns."""
    paint = Paint(color=options.color)
    head = tuple(Part(word, style="quiet") for word in heads)
    cells = [head, *(tuple(map(_safe_part, row)) for row in rows)]
    for pieces in columns(cells, paint, numbers=numbers):
        yield fold(pieces, options.width, "", "  ", "  ")


def _safe_part(value: Value) -> Part:
    part = part_of(value)
    return msgspec.structs.replace(part, text=safe(part.text) or "-")


def part_of(value: Value) -> Part:
    """A value as the part of a cell."""
    if isinstance(value, Part):
        return value
    return Part(f"{value:,}" if isinstance(value, int) else value or "")


class DifferenceSection(NamedTuple):
    """Differences of one kind. ``verbose``: shown with ``--verbose`` only."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    verbose: bool = False


class Differences(NamedTuple):
    """Everything that is written. ``record``: the JSON document; ``csv``: its lines."""

    record: msgspec.Struct
    head: str
    notes: Sequence[str]
    sections: Sequence[DifferenceSection]
    csv: Sequence[Sequence[str | None]]


def as_text(one: Differences, options: Options) -> Iterator[str]:
    """The head and the notes, then each section."""
    paint = Paint(color=options.color)
    yield wrap(safe(one.head), options.width, "", "  ")
    for note in one.notes:
        yield wrap(safe(f"Note: {note}"), options.width, "", "  ")
    for section in one.sections:
        if options.verbose or not section.verbose:
            yield f"\n{paint('name', section.title)}:\n"
            yield from _entries(section, options.width, paint)


def _entries(section: DifferenceSection, width: int, paint: Paint) -> Iterator[str]:
    """Two lines for each row, the second one for its last cell."""
    rows = [tuple(map(_safe_part, row)) for row in section.rows]
    for pieces, row in zip(columns([row[:-1] for row in rows], paint), rows, strict=True):
        yield fold(pieces, width, "  ", "    ", "  ")
        yield wrap(row[-1].text, width, "    ", "    ")


def as_json(one: Differences, options: Options) -> Iterator[str]:
    """The whole record."""
    del options
    yield msgspec.json.format(msgspec.json.encode(one.record)).decode() + "\n"


def as_csv(one: Differences, options: Options) -> Iterator[str]:
    """One line for each difference."""
    del options
    yield lines(one.csv)


def as_markdown(one: Differences, options: Options) -> Iterator[str]:
    """For a comment or an issue: the head, and a table for each section."""
    del options
    yield f"{markdown(one.head)}\n\n"
    yield from (f"Note: {markdown(note)}\n\n" for note in one.notes)
    for section in one.sections:
        if not section.verbose:
            rows = tuple(Row(tuple((part_of(cell),) for cell in row)) for row in section.rows)
            yield from table_text(Table(section.title, tuple(section.heads), rows, words=True))


FORMATS: dict[str, Callable[[Differences, Options], Iterator[str]]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "markdown": as_markdown,
}  # fmt: skip
