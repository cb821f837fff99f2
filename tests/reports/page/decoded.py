"""The data of a page, read as its script reads it, without a browser."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import NamedTuple

_DATA = re.compile(
    r'<script type="application/octet-stream" id="data">\n([A-Za-z0-9+/=\n]*)</script>'
)
_NUMBERS = {"dict", "number"}


class Decoded(NamedTuple):
    """Table -> column -> a text, number or hexadecimal address for each row."""

    tables: dict[str, dict[str, list[str] | list[int]]]
    facts: dict[str, object]


def decoded(page: str) -> Decoded:
    """The tables and facts of a page. Raises AssertionError where its bytes do not add up."""
    (block,) = _DATA.findall(page)
    data = gzip.decompress(b64decode(block))
    size = int.from_bytes(data[:4], "little")
    head, at = json.loads(data[4 : 4 + size]), 4 + size
    tables: dict[str, dict[str, list[str] | list[int]]] = {}
    for name, table in head["tables"].items():
        tables[name] = {}
        for key, info in table["columns"].items():
            values, texts = data[at : at + info["bytes"]], data[at + info["bytes"] :]
            at += info["bytes"] + info["texts"]
            tables[name][key] = _column(info, values, texts[: info["texts"]].decode().split("\n"))
    assert at == len(data)
    return Decoded(tables, head["facts"])


def _column(info: dict[str, int | str], values: bytes, texts: list[str]) -> list[str] | list[int]:
    width = int(info["width"]) or 1
    pieces = [values[at : at + width] for at in range(0, len(values), width)]
    if info["kind"] == "text":
        return texts
    if info["kind"] not in _NUMBERS:
        return [piece.hex() for piece in pieces]
    numbers = [int.from_bytes(piece, "little") for piece in pieces]
    return numbers if info["kind"] == "number" else [texts[number] for number in numbers]


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
    "thead", "tbody", "tr", "th", "td", "noscript", "code", "input", "footer",
    "dialog", "script", "details", "summary", "g",
}  # fmt: skip
