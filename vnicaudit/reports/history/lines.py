"""Rows of words and numbers below column heads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.columns import columns
from vnicaudit.reports.table.model import Part
from vnicaudit.reports.wrap import fold
from vnicaudit.reports.writer import Options

Value = str | int | None


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
    cells = [head, *(tuple(map(_part, row)) for row in rows)]
    for pieces in columns(cells, paint, numbers=numbers):
        yield fold(pieces, options.width, "", "  ", "  ")


def _part(value: Value) -> Part:
    if value is None:
        return Part("-")
    return Part(f"{value:,}") if isinstance(value, int) else Part(safe(value))
