"""Template tags (Jinja, ERB, Go) in the bytes of domain XML, and what they do around elements.

Nothing is rendered. Whatever a tag holds, it is made harmless to an XML parser, every position
kept; ERB's tags become Jinja's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPEN = re.compile(rb"<%|\{%|\{\{|\{#")
_CLOSE = {b"<%": b"%>", b"{%": b"%}", b"{{": b"}}", b"{#": b"#}"}
_UNFIT = re.compile(rb"[<>&\"']")

_WORD = re.compile(r"[-+~\s]*([A-Za-z_]\w*)?")
_ENDS_IN_DO = re.compile(r"\bdo\s*(?:\|[^|]*\|)?\s*-?\Z")
_BEGIN = frozenset({
    "if", "for", "macro", "call", "filter", "block", "raw", "with", "autoescape", "trans",  # Jinja
    "range", "define", "unless", "case", "while", "each",  # Go, ERB, Handlebars
})  # fmt: skip
_BETWEEN = frozenset({"else", "elif", "elsif", "when"})
_SILENT = frozenset({"set", "do", "import", "from", "extends", "break", "continue"})
_DO = 200
"""Characters at the end of a tag in which ERB's ``do |x|`` stands."""


class Tag(NamedTuple):
    """One tag: ``[start, end)``, and what it begins with."""

    start: int
    end: int
    opener: bytes


def tags(data: bytes) -> Iterator[Tag]:
    """The tags in order. Linear in the size: an opener that nothing closes is looked at once."""
    never: set[bytes] = set()
    position = 0
    while (match := _OPEN.search(data, position)) is not None:
        opener = match.group()
        position = match.end()
        end = -1 if opener in never else data.find(_CLOSE[opener], position)
        if end < 0:
            never.add(opener)
            continue
        position = end + 2
        yield Tag(match.start(), position, opener)


def masked(data: bytes) -> bytes:
    """A template as XML that has a chance to be parsed: as long, and with the same line breaks."""
    parts, position = [], 0
    for tag in tags(data):
        parts += [data[position : tag.start], _harmless(data[tag.start : tag.end], tag.opener)]
        position = tag.end
    return b"".join([*parts, data[position:]]) if parts else data


def _harmless(text: bytes, opener: bytes) -> bytes:
    if opener == b"{#":
        return re.sub(rb"[^\r\n]", b" ", text)
    inner = _UNFIT.sub(b"_", text[2:-2])
    if opener == b"<%":
        opener = b"{{" if inner.startswith((b"=", b"-=")) else b"{%"
    return opener + inner + _CLOSE[opener]


class Effect(NamedTuple):
    """What a text between elements does: how many conditions or loops are open behind it (before
    it: ``depth``), and the tag that puts in something that is not seen, empty: none does."""

    depth: int
    inserts: str = ""


def effect(text: str | None, depth: int) -> Effect:
    """What the tags in a text between elements come to."""
    if not text or "{" not in text:
        return Effect(depth)
    inserts = ""
    data = text.encode("utf-8", "replace")
    for tag in tags(data):
        body = data[tag.start + 2 : tag.end - 2].decode("utf-8", "replace")
        found = _WORD.match(body)
        word = (found[1] or "") if found else ""
        if word in _BEGIN or (tag.opener == b"{%" and _ENDS_IN_DO.search(body[-_DO:])):
            depth += 1
        elif word.startswith("end"):
            depth = max(0, depth - 1)
        elif word not in _BETWEEN and word not in _SILENT and tag.opener != b"{#":
            inserts = inserts or data[tag.start : tag.end].decode("utf-8", "replace")
    return Effect(depth, inserts)


def has_tag(text: str | None) -> bool:
    """Whether a text between elements holds a tag."""
    return bool(text) and ("{{" in (text or "") or "{%" in (text or ""))
