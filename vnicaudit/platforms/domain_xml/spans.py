"""Where the documents of a blob begin and end, found without parsing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from vnicaudit.platforms.domain_xml.recognise import OPENING, ROOTS

DOCTYPE = re.compile(rb"<!DOCTYPE\b")

_DECLARATION = re.compile(rb"<\?xml\s[^>]*\?>")
_AT_LINE_START = re.compile(rb"^[ \t]*(?=<(?:%s)[\s>/])" % "|".join(ROOTS).encode(), re.MULTILINE)


@cache
def _tags(root: bytes) -> re.Pattern[bytes]:
    """Start and end tags of one name."""
    return re.compile(rb"<(/?)%s(?=[\s>/])[^<>]*?(/?)>" % root)


class Span(NamedTuple):
    """Bytes ``start`` to ``end`` of one document, and the number of lines before it."""

    start: int
    end: int
    lines: int


def spans(data: bytes) -> Iterator[Span]:
    """From the XML declaration (or the root) of each document to its root's end tag, in order.

    A document that never ends is cut where the next one begins in a line of its own, so that it
    does not take the rest of the file with it.
    """
    position = counted = lines = 0
    while (match := OPENING.search(data, position)) is not None:
        end = _end(data, match)
        prolog = None
        for found in _DECLARATION.finditer(data, position, match.start()):
            prolog = found
        prolog = prolog or DOCTYPE.search(data, position, match.start())
        start = match.start() if prolog is None else prolog.start()
        lines += data.count(b"\n", counted, start)
        counted = start
        yield Span(start, end, lines)
        position = end


def _end(data: bytes, opening: re.Match[bytes]) -> int:
    """Behind the end tag of the element that ``opening`` begins, elements of the same name inside
    counted."""
    depth = 0
    for tag in _tags(opening.group(1)).finditer(data, opening.start()):
        if tag.group(1):
            depth -= 1
        elif not tag.group(2):
            depth += 1
        if depth <= 0:
            return tag.end()
    following = _AT_LINE_START.search(data, opening.end())
    return len(data) if following is None else following.start()
