"""The one model of a report: sections of tables, sentences and facts, independent of the format.

:mod:`vnicaudit.reports.as_text`, :mod:`~vnicaudit.reports.as_markdown` and
:mod:`~vnicaudit.reports.as_html` render it. It holds text as it was read; each makes it safe in its
own way.
"""

from __future__ import annotations

from typing import Literal

import msgspec

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


Cell = str | int | None | Part | tuple[Part, ...]
"""A text, a number, nothing, or one or several parts."""


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


class ReportSection(msgspec.Struct, frozen=True, kw_only=True):
    """``title`` in a ``style`` of :mod:`vnicaudit.reports.safe`, words ``about`` it, and a sentence
    below (``lead``); then tables, sentences (``items``) and facts (``pairs``). ``verdict``: it
    comes first, and is seen first; ``aside``: few readers need it."""

    title: str
    style: str = "name"
    about: tuple[str, ...] = ()
    lead: str = ""
    tables: tuple[Table, ...] = ()
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    verdict: bool = False
    aside: bool = False


def parts_of(cell: Cell) -> tuple[Part, ...]:
    """The parts of a cell, including those without text."""
    if isinstance(cell, tuple):
        return cell
    if isinstance(cell, Part):
        return (cell,)
    return (Part(f"{cell:,}" if isinstance(cell, int) else cell or ""),)


def cell_text(cell: Cell) -> str:
    """The parts of a cell on one line, separated by blanks."""
    return " ".join(part.text for part in parts_of(cell) if part.text)
