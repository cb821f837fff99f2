"""Columns, rows and cells, independent of the output format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

import msgspec

from vnicaudit.reports.safe import Paint, Piece, aligned, padded, safe, width_of, with_lead

Role = Literal["value", "aside", "note"]
"""Role of a part in its cell: the value itself, an addition beside it (an interval), or a line of
its own below."""


class Part(msgspec.Struct, frozen=True):
    """Text in a cell. ``style``: a style of :mod:`vnicaudit.reports.safe`; empty: none.
    ``strong``: emphasised in formats without colour. ``code``: a name or a place that may be
    copied."""

    text: str
    role: Role = "value"
    style: str = ""
    strong: bool = False
    code: bool = False


Cell = str | tuple[Part, ...]
"""A text, or several parts."""


class Group(msgspec.Struct, frozen=True):
    """Heading that rows are grouped under: its name, and a sentence about it."""

    name: str
    about: str


class Row(msgspec.Struct, frozen=True):
    """The first cell is the row's head. ``group``: the group that starts with this row."""

    cells: tuple[Cell, ...]
    group: Group | None = None


class Table(msgspec.Struct, frozen=True):
    """``heads``: one for each column. ``grouped_by``: heading of the groups; empty: no groups.
    ``words``: cells contain words, not numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    grouped_by: str = ""
    words: bool = False


def parts_of(cell: Cell) -> tuple[Part, ...]:
    """The parts of a cell, including those without text."""
    return (Part(cell),) if isinstance(cell, str) else cell


def cell_text(cell: Cell) -> str:
    """The parts of a cell on one line, separated by blanks."""
    return " ".join(part.text for part in parts_of(cell) if part.text)


# A table for a terminal: the parts of a cell side by side if the terminal is wide enough, else one
# below the other, else nothing (the caller writes sentences instead).


GAP = "  "

_Cells = tuple[tuple[Piece, ...], ...]


class TableLine(msgspec.Struct, frozen=True):
    """``cells``, or ``text`` that is written unchanged instead."""

    cells: tuple[Cell, ...] = ()
    text: str = ""


class _Laid(msgspec.Struct, frozen=True):
    """A line whose parts are coloured."""

    cells: _Cells
    text: str


class Grid:
    """Columns shared by all lines. The first and the last ``left`` columns are aligned left;
    numbers are aligned right."""

    def __init__(
        self, lines: Iterable[TableLine], width: int, paint: Paint, *, indent: int, left: int = 0
    ) -> None:
        self._indent = indent
        self._left = left
        below = [_painted(line, paint) for line in lines]
        self._lines: Sequence[_Laid] = [_beside(line) for line in below]
        self._columns = self._widths()
        if self._wide() > width:
            self._lines = below
            self._columns = self._widths()
        self.fits = self._wide() <= width

    def text(self) -> Iterator[str]:
        """Each line, or its parts below each other, with line breaks."""
        for line in self._lines:
            yield line.text or "".join(map(self._row, zip_longest(*line.cells)))

    def _widths(self) -> list[int]:
        cells = [line.cells for line in self._lines if line.cells]
        columns = zip_longest(*cells, fillvalue=())
        return [max((width_of(part.plain) for cell in column for part in cell), default=0)
                for column in columns]  # fmt: skip

    def _wide(self) -> int:
        return self._indent + sum(self._columns) + len(GAP) * (len(self._columns) - 1)

    def _row(self, parts: tuple[Piece | None, ...]) -> str:
        text = " " * self._indent
        last = len(self._columns) - self._left
        for at, (part, width) in enumerate(zip_longest(parts, self._columns)):
            pad = " " * (width - (width_of(part.plain) if part else 0))
            word = part.painted if part else ""
            text += (word + pad if at == 0 or at >= last else pad + word) + GAP
        return text.rstrip() + "\n"


def piece_of(part: Part, paint: Paint) -> Piece:
    """A part with its plain and its coloured text."""
    text = safe(part.text)
    return Piece(text, paint(part.style, text))


def _painted(line: TableLine, paint: Paint) -> _Laid:
    cells = (tuple(piece_of(part, paint) for part in parts_of(cell)) for cell in line.cells)
    return _Laid(tuple(cells), line.text)


def _beside(line: _Laid) -> _Laid:
    """The line with the parts of each cell joined."""
    return _Laid(tuple((_joined_pieces(cell),) if cell else () for cell in line.cells), line.text)


def _joined_pieces(cell: Iterable[Piece]) -> Piece:
    parts = [part for part in cell if part.plain]
    return Piece(" ".join(part.plain for part in parts), " ".join(part.painted for part in parts))


# Columns for rows that end in running text, which is placed beside the row if there is room, else
# below it; and for rows that are written before the next one is known.


_NARROW = 28
"""Columns that text needs beside its row; with less room it goes below."""
_NOTHING = Piece("", "")


def columns(
    rows: Iterable[Sequence[Part]],
    paint: Paint,
    *,
    least: Sequence[int] = (),
    numbers: Collection[int] = (),
) -> list[list[Piece]]:
    """The cells of all rows, padded to the width of their column, which is at least ``least``.
    ``numbers``: right-aligned columns."""
    cells = [[piece_of(part, paint) for part in row] for row in rows]
    return aligned(cells, least=least, numbers=numbers)


def padded_cell(part: Part, width: int, paint: Paint) -> Piece:
    """One cell of a column whose width is known in advance."""
    return padded(piece_of(part, paint), width)


def row_with_text(
    cells: Iterable[Piece], text: str, width: int, first: str, rest: str, lead: Piece = _NOTHING
) -> str:
    """``first``, a row, and a text aligned in its own column; if there is too little room, the text
    goes below the row, indented by ``rest``. ``lead``: coloured beginning of the text. Ends with a
    line break."""
    pieces = list(cells)
    plain = first + "".join(f"{piece.plain}{GAP}" for piece in pieces)
    row = first + "".join(f"{piece.painted}{GAP}" for piece in pieces)
    if not (text or lead.plain):
        return f"{row.rstrip()}\n"
    room = width_of(plain)
    if width - room >= _NARROW:
        return row + with_lead(lead, text, width, " " * room, " " * room)[room:]
    return f"{row.rstrip()}\n{with_lead(lead, text, width, rest, rest)}"


def at_stops(cells: Iterable[str], stops: Iterable[int]) -> str:
    """Cells at given start columns, with a gap before each. A cell that is too long pushes its
    neighbours until they fit again."""
    line, used = "", 0
    for cell, start in zip(cells, stops, strict=True):
        gap = max(start - used, len(GAP))
        line += " " * gap + cell
        used += gap + width_of(cell)
    return line
