"""A report as HTML. All text is escaped here."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from vnicaudit.reports.model import Cell, Group, Part, ReportSection, Row, Table, parts_of
from vnicaudit.reports.safe import safe


def text(value: str) -> str:
    """Text from a target as HTML, without markup and without characters that hide or reorder
    text."""
    return escape(safe(value))


def section_text(section: ReportSection, heading: str) -> Iterator[str]:
    """A section below a ``heading`` (``h1`` or ``h2``)."""
    title, about = text(section.title), text(", ".join(section.about))
    style = f"verdict {section.style}" if section.verdict else "part"
    yield f'<section class="{style}">\n<{heading}><span class="{section.style}">{title}</span> '
    yield f"{about}</{heading}>\n"
    yield f"<p>{text(section.lead)}</p>\n" if section.lead else ""
    for table in section.tables:
        yield from table_text(table)
    if section.items:
        yield "<ul>" + "".join(f"<li>{text(item)}</li>" for item in section.items) + "</ul>\n"
    if section.pairs:
        pairs = (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>\n" for name, value in section.pairs)
        yield f"<dl>\n{''.join(pairs)}</dl>\n"
    yield "</section>\n"


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
    return "".join(_part(part) for part in parts_of(cell) if part.text)


def _part(part: Part) -> str:
    found = f"<code>{text(part.text)}</code>" if part.code else text(part.text)
    if part.role != "value":
        return f"<small>{found}</small>"
    style = f' class="{part.style}"' if part.style else ""
    return f"<span{style}>{f'<b>{found}</b>' if part.strong else found}</span>"


# The head of every HTML page of vnicaudit: colours, style, and a policy that keeps a browser from
# running or loading anything that was not written here.


@cache
def template(name: str) -> str:
    """Contents of a file in ``templates/``."""
    return (files("vnicaudit") / "templates" / name).read_text(encoding="utf-8")


@cache
def stylesheet(*names: str) -> str:
    """The colours of all pages, light and dark, followed by these style sheets."""
    colours = template("page/colours.css").replace("$dark", template("page/dark.css").strip())
    return "\n".join((colours, *map(template, names)))


@cache
def policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with exactly this style and script: nothing else is
    applied or run, nothing is loaded, and no text becomes markup."""
    parts = ["default-src 'none'", f"style-src {_hash(style)}", "img-src data:"]
    if script:
        parts += [f"script-src {_hash(script)}", "require-trusted-types-for 'script'"]
        parts += ["trusted-types 'none'"]
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def head(title: str, style: str, script: str = "") -> str:
    """The document before its body. ``title`` is escaped here."""
    return Template(template("page/head.html")).substitute(
        title=escape(title), policy=policy(style, script), style=style
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
