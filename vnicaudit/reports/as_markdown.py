"""A report as GitHub-flavoured Markdown, for comments on merge requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.reports.model import Cell, Part, ReportSection, Table, parts_of
from vnicaudit.reports.safe import markdown, markdown_code


def section_text(section: ReportSection) -> Iterator[str]:
    """A section: collapsed if few readers need it."""
    title, about = markdown(section.title), markdown(", ".join(section.about))
    if section.aside:
        yield f"<details><summary>{title}</summary>\n\n"
    else:
        yield f"**{title}** {about}".rstrip() + "\n\n"
    if section.lead:
        yield f"{markdown(section.lead)}\n\n"
    for table in section.tables:
        yield from table_text(table)
    items = (*section.items, *(f"{label}: {value}" for label, value in section.pairs))
    yield from (f"* {markdown(item)}\n" for item in items)
    yield "\n" if items else ""
    yield "</details>\n" if section.aside else ""


def table_text(table: Table, *, tight: bool = False) -> Iterator[str]:
    """The caption, if there is one, and the table, each followed by an empty line. Groups become
    the first column, filled only in the first row of each group. ``tight``: no blanks in the rule
    and in an empty last cell."""
    if table.caption:
        yield f"{markdown(table.caption)}\n\n"
    heads = [table.grouped_by, *table.heads] if table.grouped_by else table.heads
    yield _line(map(markdown, heads))
    yield f"|{'---|' * len(heads)}\n" if tight else _line(["---"] * len(heads))
    for row in table.rows:
        name = row.group and f"{markdown_code(row.group.name)}<br>{markdown(row.group.about)}"
        first = [name or ""] if table.grouped_by else []
        yield _line([*first, *map(_cell, row.cells)], tight=tight)
    yield "\n"


def _cell(cell: Cell) -> str:
    text = ""
    for part in parts_of(cell):
        if part.text:
            gap = " " if part.role == "aside" else "<br>"
            text += (gap if text else "") + _part(part)
    return text


def _part(part: Part) -> str:
    text = markdown_code(part.text) if part.code else markdown(part.text)
    return f"**{text}**" if part.strong else text


def _line(columns: Iterable[str], *, tight: bool = False) -> str:
    line = f"| {' | '.join(columns)}"
    return f"{line.rstrip() if tight else line} |\n"
