"""Cells in columns: side by side on one line where the terminal is wide enough, else the parts of a
cell below one another, else nothing (the caller says it in sentences)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from vnicaudit.reports.wrap import Piece, width_of

GAP = "  "


class Line(NamedTuple):
    """``cells``: the parts of each. ``text``: what stands in place of cells, as it is."""

    cells: tuple[tuple[Piece, ...], ...] = ()
    text: str = ""


def plain(text: str) -> Piece:
    """A piece without colour."""
    return Piece(text, text)


class Grid:
    """Columns that all lines share. The first is aligned left, so are the last ``left``; numbers
    are aligned right."""

    def __init__(self, lines: Sequence[Line], width: int, *, indent: int, left: int = 0) -> None:
        self._indent = indent
        self._left = left
        self.lines = [_joined(line) for line in lines]
        self._columns = self._widths()
        if self._wide() > width:
            self.lines = list(lines)
            self._columns = self._widths()
        self.fits = self._wide() <= width

    def text(self) -> Iterator[str]:
        """Each line, or its parts below one another, with line breaks."""
        for line in self.lines:
            yield line.text or "".join(map(self._row, _stacked(line.cells)))

    def _widths(self) -> list[int]:
        cells = [line.cells for line in self.lines if line.cells]
        columns = zip_longest(*cells, fillvalue=())
        return [max((_wide(part) for cell in column for part in cell), default=0)
                for column in columns]  # fmt: skip

    def _wide(self) -> int:
        return self._indent + sum(self._columns) + len(GAP) * (len(self._columns) - 1)

    def _row(self, parts: tuple[Piece | None, ...]) -> str:
        text = " " * self._indent
        last = len(self._columns) - self._left
        for at, (part, width) in enumerate(zip_longest(parts, self._columns)):
            pad = " " * (width - (_wide(part) if part else 0))
            shown = part.shown if part else ""
            text += (shown + pad if at == 0 or at >= last else pad + shown) + GAP
        return text.rstrip() + "\n"


def _wide(piece: Piece) -> int:
    return width_of(piece.plain)


def _joined(line: Line) -> Line:
    return Line(tuple((_beside(cell),) if cell else () for cell in line.cells), line.text)


def _beside(cell: Iterable[Piece]) -> Piece:
    parts = [part for part in cell if part.plain]
    return Piece(" ".join(part.plain for part in parts), " ".join(part.shown for part in parts))


def _stacked(cells: tuple[tuple[Piece, ...], ...]) -> Iterator[tuple[Piece | None, ...]]:
    yield from zip_longest(*cells)
