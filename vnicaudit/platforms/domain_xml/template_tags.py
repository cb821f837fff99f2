"""Template tags (Jinja, Go, ERB, Terraform) in domain XML, and what they do around elements.

Nothing is rendered. Whatever a tag holds, it is made harmless to an XML parser, every position
kept; ERB's tags become Jinja's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.tags import BEGIN, CLOSE, is_statement, tags, word

_UNFIT = re.compile(rb"[<>&\"']")

_ENDS_IN_DO = re.compile(r"\bdo\s*(?:\|[^|]*\|)?\s*-?\Z")
_DO = 200
"""Characters at the end of a tag in which ERB's ``do |x|`` stands."""


def harmless(data: bytes) -> bytes:
    """A template as XML that has a chance to be parsed: as long, and with the same line breaks."""
    parts, position = [], 0
    for tag in tags(data.decode("latin-1"), erb=True):
        parts += [data[position : tag.start], _inert(data[tag.start : tag.end], tag.opener)]
        position = tag.end
    return b"".join([*parts, data[position:]]) if parts else data


def _inert(text: bytes, opener: str) -> bytes:
    if opener == "{#":
        return re.sub(rb"[^\r\n]", b" ", text)
    if opener == "%{":
        return _UNFIT.sub(b"_", text)
    inner = _UNFIT.sub(b"_", text[2:-2])
    if opener == "<%":
        opener = "{{" if inner.startswith((b"=", b"-=")) else "{%"
    return opener.encode() + inner + CLOSE[opener].encode()


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
    for tag in tags(text, erb=True):
        said = text[tag.start : tag.end]
        first = word(said)
        if first in BEGIN or (tag.opener == "{%" and _ENDS_IN_DO.search(said[2:-2][-_DO:])):
            depth += 1
        elif first.startswith("end"):
            depth = max(0, depth - 1)
        elif not is_statement(first) and tag.opener != "{#":
            inserts = inserts or said
    return Effect(depth, inserts)


def has_tag(text: str | None) -> bool:
    """Whether a text between elements holds a tag."""
    return bool(text) and any(opener in (text or "") for opener in ("{{", "{%", "%{"))
