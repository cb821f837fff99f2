"""Columns for rows that end in running text, which is placed beside the row if there is room, else
below it; and for rows that are written before the next one is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from vnicaudit.reports.paint import Paint
from vnicaudit.reports.table.model import Part
from vnicaudit.reports.table.text import GAP, piece_of
from vnicaudit.reports.wrap import Piece, aligned, padded, width_of, with_lead

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
