"""A table as HTML. All text is escaped here."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.model import Cell, Group, Part, Row, Table


def text(value: str) -> str:
    """Text from a target as HTML, without markup and without characters that hide or reorder
    text."""
    return escape(safe(value))


def table_text(table: Table) -> Iterator[str]:
    """The table in pieces, in a scrolling region of its own. Each group is a table body; a table
    with groups has the class ``stack``, which lets its rows become lists."""
    yield _begin(table)
    yield "" if table.grouped_by else "<tbody>\n"
    for number, row in enumerate(table.rows):
        if row.group is not None:
            yield "</tbody>\n" if number else ""
            yield _group(row.group, len(table.heads))
        yield _row(row, table)
    yield "</tbody></table></div>\n"


def _begin(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_left_aligned(words=table.words or not at)}>{text(head)}</th>'
        for at, head in enumerate(table.heads)
    )
    caption = text(table.caption)
    stacked = ' class="stack"' if table.grouped_by else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table{stacked}>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n"
    )


def _left_aligned(*, words: bool) -> str:
    return ' class="text"' if words else ""


def _group(group: Group, columns: int) -> str:
    return (
        f'<tbody>\n<tr><th scope="rowgroup" colspan="{columns}">{text(group.name)}'
        f"<small>{text(group.about)}</small></th></tr>\n"
    )


def _row(row: Row, table: Table) -> str:
    """A row. Each cell names its column, for pages so narrow that a row becomes a list."""
    head, *cells = map(_cell, row.cells)
    kind = _left_aligned(words=table.words)
    data = "".join(
        f'<td{kind} data-head="{text(name)}">{cell}</td>'
        for name, cell in zip(table.heads[1:], cells, strict=False)
    )
    return f'<tr><th scope="row">{head}</th>{data}</tr>\n'


def _cell(cell: Cell) -> str:
    """A cell: values large, and the text beside or below them small."""
    if isinstance(cell, str):
        return text(cell)
    return "".join(_part(part) for part in cell if part.text)


def _part(part: Part) -> str:
    found = f"<code>{text(part.text)}</code>" if part.code else text(part.text)
    if part.role != "value":
        return f"<small>{found}</small>"
    style = f' class="{part.style}"' if part.style else ""
    return f"<span{style}>{f'<b>{found}</b>' if part.strong else found}</span>"
