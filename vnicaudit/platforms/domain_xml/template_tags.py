"""Template tags (Jinja, Go, ERB, Terraform) in domain XML, and their effect on elements.

Nothing is rendered. Tags are made harmless to an XML parser, keeping every position; ERB's tags
become Jinja's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.tags import CLOSE, tags

_FEW = 16

_UNFIT = re.compile(rb"[<>&\"']")


def may_be_template(data: bytes) -> bool:
    """Quick test: True if the data contains anything with which a placeholder can begin."""
    # one byte is found far faster than two, and most documents have none of the first bytes
    return (
        b"{" in data
        or b"$" in data
        or b"@" in data
        or b"%" in data
        or (b"(" in data and b"((" in data)
        or (b"[" in data and b"[[" in data)
        or (b"&" in data and b"&lt;" in data)
        or _has_dunder(data)
    )


def _has_dunder(data: bytes) -> bool:
    """True if there are two adjacent underscores. One byte is found six times as fast as two, so
    the few underscores of most documents are checked one by one."""
    at = -1
    for _ in range(_FEW):
        at = data.find(b"_", at + 1)
        if at < 0:
            return False
        if data[at + 1 : at + 2] == b"_":
            return True
    return b"__" in data[at + 1 :]


def harmless(data: bytes) -> bytes:
    """A template converted to XML that can probably be parsed: of the same length, with the same
    line breaks."""
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


class TagEffect(NamedTuple):
    """The effect of the tags in a text between elements. ``depth``: number of conditions or loops
    open behind it. ``inserts``: the tag that inserts unknown content; empty if none does."""

    depth: int
    inserts: str = ""


def effect(text: str | None, depth: int) -> TagEffect:
    """The effect of the tags in a text between elements, before which ``depth`` conditions or loops
    are open."""
    if not text or "{" not in text:
        return TagEffect(depth)
    inserts = ""
    for tag in tags(text, erb=True):
        turn = tag.turn
        if turn == "begins":
            depth += 1
        elif turn == "ends":
            depth = max(0, depth - 1)
        elif turn == "inserts":
            inserts = inserts or tag.text
    return TagEffect(depth, inserts)


def has_tag(text: str | None) -> bool:
    """True if a text between elements contains a template tag."""
    return bool(text) and any(opener in (text or "") for opener in ("{{", "{%", "%{"))
