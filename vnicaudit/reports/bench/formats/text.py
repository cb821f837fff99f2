"""Text for people: the verdict, the tables, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.matrix import all_matrices, matrix_table
from vnicaudit.reports.bench.sections import ReportSection, sections
from vnicaudit.reports.safe import Paint, Piece, fold, safe, title_line, wrap
from vnicaudit.reports.table.model import (
    Cell,
    Grid,
    Part,
    Row,
    Table,
    TableLine,
    cell_text,
    parts_of,
    piece_of,
)
from vnicaudit.reports.writers import Options

FORMAT = "text"
SUMMARY = "for people: the verdict, tables, what does not count"

_INDENT = 2
_LABEL = 8


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The report in pieces that end with a line break."""
    for number, section in enumerate(sections(result, options)):
        yield "\n" if number else ""
        yield from _section(section, options)


def tables(results: Sequence[BenchResult], options: Options) -> Iterator[str]:
    """Several measurements as tables, one for each kind of work, by NIC, vCPUs, server option and
    number of generators."""
    for matrix in all_matrices(results):
        yield from _table(matrix_table(matrix), options)
        yield "\n"


def _section(section: ReportSection, options: Options) -> Iterator[str]:
    paint, width = Paint(color=options.color), options.width
    title = safe(section.title)
    about = [Piece(text, text) for text in map(safe, section.about)]
    yield fold([Piece(title, paint(section.style, title)), *about], width, "", "  ", "  ")
    if section.lead:
        yield wrap(safe(section.lead), width, "  ", "    ")
    for table in section.tables:
        yield from _table(table, options)
    for item in section.items:
        yield wrap(safe(item), width, "  ", "    ")
    for label, value in section.pairs:
        room = " " * max(0, _LABEL - len(label))
        yield wrap(safe(value), width, f"  {safe(label)}{room}  ", " " * (_LABEL + 4))


def _table(table: Table, options: Options) -> Iterator[str]:
    """The caption, and a line for each row; sentences if that is wider than the terminal."""
    paint, width = Paint(color=options.color), options.width
    if table.caption:
        yield wrap(safe(table.caption), width, "  ", "    ")
    heads = tuple((Part(head, style="quiet" if at else ""),) for at, head in enumerate(table.heads))
    lines = [TableLine(heads)]
    for row in table.rows:
        lines += _group(row, options)
        lines.append(TableLine(tuple(tuple(_columns(cell)) for cell in row.cells)))
        lines += _notes(row, options)
    words = any(part.strong for row in table.rows for part in parts_of(row.cells[-1])[:1])
    grid = Grid(lines, width, paint, indent=_INDENT, left=1 if words else 0)
    if grid.fits:
        yield from grid.text()
        return
    for row in table.rows:
        yield from (line.text for line in _group(row, options))
        name, *cells = row.cells
        said = [Part(text, style="name") for text in _pieces(cell_text(name).strip(), width)]
        for head, cell in zip(table.heads[1:], cells, strict=True):
            for at, part in enumerate(part for part in _columns(cell) if part.text):
                said.append(Part(part.text if at else f"{head} {part.text}".strip()))
        pieces = [piece_of(part, paint) for part in said]
        yield fold(pieces, width, "  ", "    ", "  ")
        yield from (line.text for line in _notes(row, options))


def _pieces(name: str, width: int) -> list[str]:
    """A name as a whole if it fits, else its parts."""
    return [name] if len(name) < width - _INDENT else name.replace(", ", ",\n").split("\n")


def _columns(cell: Cell) -> Iterator[Part]:
    """The parts of a cell that stand in its column."""
    return (part for part in parts_of(cell) if part.role != "note")


def _group(row: Row, options: Options) -> Iterator[TableLine]:
    """The heading of the group that starts with the row."""
    if row.group is not None:
        name = safe(row.group.name)
        title = Piece(name, Paint(color=options.color)("name", name))
        yield TableLine(text=title_line(title, safe(row.group.about), options.width))


def _notes(row: Row, options: Options) -> Iterator[TableLine]:
    """Notes of the cells, each on a line of its own; none if ``quiet``."""
    for cell in () if options.quiet else row.cells:
        for part in parts_of(cell):
            if part.role == "note":
                yield TableLine(text=wrap(safe(part.text), options.width, "    ", "      "))
