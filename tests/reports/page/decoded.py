"""The data of a page, read as its script reads it, without a browser."""

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any, NamedTuple

_DATA = re.compile(
    r'<script type="application/octet-stream" id="data">\n([A-Za-z0-9+/=\n]*)</script>'
)


class Decoded(NamedTuple):
    """Table -> column -> a text or number for each row."""

    tables: dict[str, dict[str, list[str] | list[int]]]
    facts: dict[str, object]


def decoded(page: str) -> Decoded:
    """The tables and facts of a page."""
    (block,) = _DATA.findall(page)
    data = json.loads(gzip.decompress(b64decode(block)))
    tables = {
        name: {key: _column(column) for key, column in columns.items()}
        for name, columns in data["tables"].items()
    }
    return Decoded(tables, data["facts"])


def _column(column: list[int] | dict[str, Any]) -> list[str] | list[int]:
    if isinstance(column, list):
        return column
    texts = column["texts"]
    return [texts[number] for number in column.get("rows", range(len(texts)))]


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open not in ("style", "script"):
            self.text += data


def check_markup(page: str) -> None:
    """What holds for every page, whatever names are in it: no element and no attribute came out of
    them."""
    elements = Elements(page)
    assert {tag for tag, _ in elements.tags} <= KNOWN
    for tag, attributes in elements.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert attributes.get("src") is None
        assert (attributes.get("href") or "#").startswith("#"), attributes


KNOWN = {
    "html", "head", "meta", "title", "style", "body", "header", "p", "button", "span", "nav", "a",
    "b", "main", "div", "section", "h1", "h2", "svg", "rect", "ul", "ol", "li", "small", "table",
    "caption", "thead", "tbody", "tr", "th", "td", "noscript", "code", "input", "footer",
    "dialog", "script", "details", "summary", "g",
}  # fmt: skip
