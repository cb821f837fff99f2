"""A table for a terminal: the parts of a cell side by side if the terminal is wide enough, else one
below the other, else nothing (the caller writes sentences instead)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

import msgspec

from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.model import Cell, Part, parts_of
from vnicaudit.reports.wrap import Piece, width_of

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
