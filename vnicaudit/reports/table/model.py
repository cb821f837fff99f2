"""Columns, rows and cells, whatever they are written as."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["value", "aside", "note"]
"""What a part is in its cell: what it is about; what belongs beside that (an interval); or a line
of its own below."""


class Part(NamedTuple):
    """Some text in a cell. ``style``: a style of :mod:`vnicaudit.reports.paint`, empty: none.
    ``strong``: it stands out wherever there is no colour. ``code``: a name or a place, to be copied
    as it is."""

    text: str
    role: Role = "value"
    style: str = ""
    strong: bool = False
    code: bool = False


Cell = str | tuple[Part, ...]
"""A text, or its parts."""


class Group(NamedTuple):
    """Heading that rows are grouped under: its name, and a sentence about it."""

    name: str
    about: str


class Row(NamedTuple):
    """The first cell is the row's head. ``group``: the one that begins with this row."""

    cells: tuple[Cell, ...]
    group: Group | None = None


class Table(NamedTuple):
    """``heads``: one for each column. ``grouped_by``: what a group is, empty where there are none.
    ``words``: cells hold words, no numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    grouped_by: str = ""
    words: bool = False


def parts_of(cell: Cell) -> tuple[Part, ...]:
    """The parts of a cell, those without text included."""
    return (Part(cell),) if isinstance(cell, str) else cell


def cell_text(cell: Cell) -> str:
    """The parts of a cell in one line, with blanks between."""
    return " ".join(part.text for part in parts_of(cell) if part.text)
