"""Elements and attributes of XML that hold secrets, also over several lines.

A new notation needs a sign in secret_signs.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from vnicaudit.text.secret_names import is_harmless, is_secret_name

# A value that continues after its line: by a continuation, by indentation, in quotes, or up to a
# marker.

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


_ATTRIBUTE = re.compile(r"(?<![\w:.-])(?P<name>[A-Za-z_][\w:.-]*)(?P<sep>\s{0,99}=\s{0,99})"
                        r"(?:\"(?P<double>[^\"<]*)\"|'(?P<single>[^'<]*)')")  # fmt: skip
_OPENING = re.compile(r"<(?P<name>[A-Za-z_][\w:.-]*)(?![\w:.-])(?P<attributes>[^<>]*)(?<!/)>")
_CLOSING = re.compile(r"</(?P<name>[A-Za-z_][\w:.-]*)")
_TAG = re.compile(r"<[A-Za-z_][^<>]*>")
_NAMED = re.compile(r"\bname\s{0,9}=\s{0,9}(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_VALUE = re.compile(r"(?P<before>\bvalue\s{0,9}=\s{0,9})(?P<value>\"[^\"<>]*\"|'[^'<>]*')")
_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")


def masked_xml(text: str, stars: str) -> str:
    """The text with stars for the contents of its secret elements and attributes; a text without
    markup is unchanged."""
    if "<" not in text or ">" not in text:
        return text
    text = _TAG.sub(lambda tag: _masked_tag(tag[0], stars), text)
    return _masked_elements(text, stars)


def _masked_tag(tag: str, stars: str) -> str:
    def hidden(found: re.Match[str]) -> str:
        value = found["double"] if found["single"] is None else found["single"]
        if not is_secret_name(found["name"]) or is_harmless(value):
            return found[0]
        quote = '"' if found["single"] is None else "'"
        return f"{found['name']}{found['sep']}{quote}{_stars(value, stars)}{quote}"

    tag = _ATTRIBUTE.sub(hidden, tag)
    named = _NAMED.search(tag)  # <qemu:env name='X_PASSWORD' value='…'/>
    if named is not None and is_secret_name(named[1] or named[2] or ""):
        tag = _VALUE.sub(lambda found: f"{found['before']}'{_stars(found['value'], stars)}'", tag)
    return tag


def _masked_elements(text: str, stars: str) -> str:
    parts = []
    at = 0
    closings: dict[str, list[int]] | None = None
    for opening in _OPENING.finditer(text):
        if opening.start() < at or not _holds_secret(opening):
            continue
        closings = _closings(text) if closings is None else closings
        end = _end_of_element(text, opening, closings)
        inner = text[opening.end() : end]
        if inner.strip():
            parts += [text[at : opening.end()], _masked_inner(inner, stars)]
            at = end
    return "".join([*parts, text[at:]])


def _closings(text: str) -> dict[str, list[int]]:
    """Name -> positions of its closing tags. Searching for each one separately would take quadratic
    time if all elements have different names and none is closed."""
    places: dict[str, list[int]] = {}
    for closing in _CLOSING.finditer(text):
        places.setdefault(closing["name"], []).append(closing.start())
    return places


def _end_of_element(text: str, opening: re.Match[str], closings: dict[str, list[int]]) -> int:
    """Position of the next closing tag of that name; if it is never closed, of the next tag of any
    name."""
    places = closings.get(opening["name"], [])
    next_one = bisect_left(places, opening.end())
    if next_one < len(places):
        return places[next_one]
    end = text.find("<", opening.end())
    return len(text) if end < 0 else end


def _holds_secret(opening: re.Match[str]) -> bool:
    name = opening["name"].rpartition(":")[2]
    if name == "entry":  # in firmware: -fw_cfg, which Ignition and cloud-init read
        return re.search(r"\bname\s{0,9}=\s{0,9}[\"']opt/", opening["attributes"]) is not None
    return is_secret_name(name)


def _masked_inner(inner: str, stars: str) -> str:
    """Stars for all of a text; if it has nested elements, for their texts only."""
    if "<" not in inner or "<![CDATA[" in inner:
        return _stars(inner, stars)
    return _TEXT.sub(
        lambda found: _stars(found[0], stars) if found[0].strip() else found[0], f">{inner}<"
    )[1:-1]


def _stars(value: str, stars: str) -> str:
    """Stars for a value, with the same number of line breaks."""
    return stars + "\n" * value.count("\n")
