"""A value that continues after its line: by a continuation, by indentation, in quotes, or up to a
marker."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEREDOC = re.compile(r"<<[-~]?[ \t]*[\"']?([A-Za-z_]\w*)[\"']?")
_SCALAR = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#.*)?")


class ValueBlock(NamedTuple):
    """Lines that belong to a value: those indented deeper than ``column``, those up to ``marker``,
    or those up to a ``quote``. ``empty``: the key's own line has no value, so a list may follow at
    the same depth. ``shown_head``: the value in the key's own line is not secret."""

    column: int
    marker: str = ""
    quote: str = ""
    empty: bool = False
    shown_head: bool = False

    def has(self, line: str) -> bool:
        """True if the next line belongs to the block."""
        if self.marker or self.quote or not line.strip():
            return True
        depth = len(line) - len(line.lstrip(" \t"))
        if depth > self.column:
            return True
        return self.empty and depth == self.column and line.lstrip().startswith("- ")

    def ends_with(self, line: str) -> bool:
        """True if the block ends with this line."""
        if self.marker:
            return line.strip() == self.marker
        return bool(self.quote) and self.quote in line

    def hidden(self, line: str, stars: str) -> str:
        """A line of the block, masked. The end marker stays, so that the reader sees where the
        value ends."""
        if not line.strip() or (self.marker and line.strip() == self.marker):
            return line
        return line[: len(line) - len(line.lstrip(" \t"))] + stars


def block_of(column: int, value: str, sep: str) -> ValueBlock | None:
    """The block that begins with ``value``, the rest of a line that assigns to a key at ``column``;
    None if nothing can follow."""
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
        return None  # the line of a shell continues, but the word has ended
    return ValueBlock(column)


def _closed(text: str) -> bool:
    return re.match(r"(?P<quote>[\"'])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)", text) is not None
