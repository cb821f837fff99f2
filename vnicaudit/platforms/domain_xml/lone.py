"""Find ``<interface>`` elements outside of any domain: what ``virsh attach-device`` takes, or what
was cut out of a definition. Nothing is parsed, and lxml is not loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.platforms.domain_xml.recognise import OPENING, is_foreign, root_name, spans
from vnicaudit.text.beginning import PROMPT

_PROMPT = re.compile(rf"\A\s*{PROMPT}(?:sudo[ \t]+)?virsh[ \t][^\n]*".encode())
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_BREAK = re.compile(rb"[^\r\n]")
_INTERFACE = re.compile(rb"<interface(?=\s)([^<>]{0,400})>")
_OF_A_GUEST = re.compile(
    rb"\btype\s*=\s*[\"'](?:network|bridge|direct|user|ethernet|vhostuser|vdpa|hostdev|internal"
    rb"|udp|mcast|server|client|null|vds)[\"']"
)
_OF_A_HOST = re.compile(rb"\bname\s*=")
_CLOSING = b"</interface>"
_LONGEST = 20_000
_ON_ITS_LINE = re.compile(rb"^[ \t]*<interface[ \t]", re.MULTILINE)


class LoneInterface(NamedTuple):
    """Bytes ``start`` to ``end`` of an ``<interface>``, and the number of lines before it;
    ``is_cut``: its end is missing."""

    start: int
    end: int
    lines: int
    is_cut: bool


def without_documents(data: bytes, *, indented: bool = False) -> bytes:
    """The file with the documents blanked that begin at the start of a line. Others belong to a
    text, and stay unless ``indented`` ones count as well."""
    parts, position = [], 0
    for span in spans(data):
        if indented or span.start == 0 or data[span.start - 1 : span.start] == b"\n":
            parts += [data[position : span.start], _blanked(data[span.start : span.end])]
            position = span.end
    return b"".join([*parts, data[position:]])


def lone_interfaces(data: bytes) -> Iterator[LoneInterface]:
    """The NICs of guests outside of any domain, in order."""
    if b"<interface" not in data:
        return
    text = without_documents(data, indented=True) if OPENING.search(data) else data
    text = _COMMENT.sub(lambda match: _blanked(match.group()), text)
    found = [match for match in _INTERFACE.finditer(text) if _is_of_a_guest(match[1])]
    following = [match.start() for match in found[1:]]
    counted = lines = 0
    for match, limit in zip(found, [*following, len(text)], strict=False):
        lines += text.count(b"\n", counted, match.start())
        counted = match.start()
        end = match.end()
        if not match[1].endswith(b"/"):
            end = text.find(_CLOSING, end, min(limit, end + _LONGEST))
            end += len(_CLOSING) if end >= 0 else 0
        yield LoneInterface(match.start(), end, lines, end < 0)


def is_bare(data: bytes) -> bool:
    """True if a file is an ``<interface>`` of a guest (not of a host, and not within a domain), or
    a piece of a template that inserts one into a domain."""
    data = _PROMPT.sub(b"", data, count=1)
    if b"<interface" not in data or not data.lstrip().startswith((b"<", b"{%", b"{#", b"{{")):
        return False
    return root_name(data) == "interface" and next(lone_interfaces(data), None) is not None


def looks_like(head: bytes) -> bool:
    """True if a text has such an element at the beginning of a line; in a sentence or a string it
    is only quoted."""
    if b"<interface" not in head or is_foreign(head) or b"\0" in head:
        return False
    found = _ON_ITS_LINE.search(head) is not None
    return found and next(lone_interfaces(head), None) is not None


def _is_of_a_guest(attributes: bytes) -> bool:
    named = _OF_A_HOST.search(attributes) is not None
    return _OF_A_GUEST.search(attributes) is not None and not named


def _blanked(text: bytes) -> bytes:
    return _NO_BREAK.sub(b" ", text)
