"""A value that goes on behind its line: continued, indented, in quotes, or up to a marker."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEREDOC = re.compile(r"<<[-~]?[ \t]*[\"']?([A-Za-z_]\w*)[\"']?")
_SCALAR = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#.*)?")


class ValueBlock(NamedTuple):
    """Lines that belong to a value: those that are indented deeper than ``column``, those up to
    ``marker``, or those up to a ``quote``. ``empty``: the key's own line says nothing, so a list
    may stand below it at the same depth. ``shown_head``: what stands in that line is no secret."""

    column: int
    marker: str = ""
    quote: str = ""
    empty: bool = False
    shown_head: bool = False

    def has(self, line: str) -> bool:
        """True where the next line belongs to the block."""
        if self.marker or self.quote or not line.strip():
            return True
        depth = len(line) - len(line.lstrip(" \t"))
        if depth > self.column:
            return True
        return self.empty and depth == self.column and line.lstrip().startswith("- ")

    def ends_with(self, line: str) -> bool:
        """True where the block ends with this line."""
        if self.marker:
            return line.strip() == self.marker
        return bool(self.quote) and self.quote in line

    def hidden(self, line: str, stars: str) -> str:
        """A line of it. Its end is shown, so that what follows can be told apart."""
        if not line.strip() or (self.marker and line.strip() == self.marker):
            return line
        return line[: len(line) - len(line.lstrip(" \t"))] + stars


def block_of(column: int, value: str, sep: str) -> ValueBlock | None:
    """The block that begins with ``value``, the rest of a line that assigns to a key at
    ``column``; None where nothing can follow."""
    text = value.strip()
    heredoc = _HEREDOC.search(text)
    if heredoc is not None:
        return ValueBlock(column, marker=heredoc[1], shown_head=text == heredoc[0])
    if _SCALAR.fullmatch(text):
        return ValueBlock(column, shown_head=True)
    if text[:1] in ("'", '"') and not _closed(text):
        return ValueBlock(column, quote=text[0])
    if text in ("", "{", "[", "(", "{}", "[]"):
        return ValueBlock(column, empty=not text, shown_head=True)
    if "=" in sep and text.endswith("\\"):
        return None  # a shell's line goes on, and the word has ended
    return ValueBlock(column)


def _closed(text: str) -> bool:
    return re.match(r"(?P<quote>[\"'])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)", text) is not None
