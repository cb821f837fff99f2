"""Where the documents of a blob begin and end, found without parsing them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from vnicaudit.platforms.domain_xml.recognise import OPENING, ROOTS

DOCTYPE = re.compile(rb"<!DOCTYPE\b")

_DECLARATION = re.compile(rb"<\?xml\s[^<>]*\?>")
_AT_LINE_START = re.compile(rb"^[ \t]*(?=<(?:%s)[\s>/])" % "|".join(ROOTS).encode(), re.MULTILINE)

_TAG = re.compile(rb"<[A-Za-z_]")


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
    does not take the rest of the file with it. One in a comment is none.
    """
    position = counted = lines = 0
    ends: dict[bytes, _Ends] = {}
    comments = _Comments(data)
    while (match := OPENING.search(data, position)) is not None:
        behind = comments.behind(match.start(), position)
        if behind:
            position = behind
            continue
        root = match.group(1)
        if root not in ends:
            ends[root] = _Ends(data, root)
        end = ends[root].of(match)
        prolog = None
        for found in _DECLARATION.finditer(data, position, match.start()):
            prolog = found
        if prolog is not None and comments.tag_within(prolog.end(), match.start()):
            prolog = None  # of what the domain stands in
        prolog = prolog or DOCTYPE.search(data, position, match.start())
        start = match.start() if prolog is None else prolog.start()
        lines += data.count(b"\n", counted, start)
        counted = start
        yield Span(start, end, lines)
        position = end


class _Comments:
    """Where comments end; asked in order of positions."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._last = data.rfind(b"-->")

    def behind(self, place: int, since: int) -> int:
        """Where the comment ends in which a place lies, 0 where it lies in none. ``since``: a
        position before the place that lies in none either."""
        while since <= self._last and (start := self._data.find(b"<!--", since, place)) >= 0:
            end = self._data.find(b"-->", start + 4)
            if end < 0:
                return 0
            since = end + 3
            if since > place:
                return since
        return 0

    def tag_within(self, start: int, end: int) -> bool:
        """True where an element begins between two positions, comments apart; ``start`` and ``end``
        must themselves lie outside comments."""
        while (tag := _TAG.search(self._data, start, end)) is not None:
            start = self.behind(tag.start(), start)
            if not start:
                return True
        return False


class _Ends:
    """Where the elements of one name end, those of the same name inside counted: found in one walk
    over the file, however many of them never end."""

    def __init__(self, data: bytes, root: bytes) -> None:
        self._data = data
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Of each tag: where the element it begins ends, or it itself where it begins none; -1 for
        one that never ends."""
        still_open: list[int] = []
        for number, tag in enumerate(_tags(root).finditer(data)):
            self._starts.append(tag.start())
            self._ends.append(tag.end())
            if not tag.group(1) and not tag.group(2):
                self._ends[number] = -1
                still_open.append(number)
            elif tag.group(1) and still_open:
                self._ends[still_open.pop()] = tag.end()

    def of(self, opening: re.Match[bytes]) -> int:
        """Behind the end tag of the element that ``opening`` begins."""
        number = bisect_left(self._starts, opening.start())
        if number < len(self._ends) and self._ends[number] >= 0:
            return self._ends[number]
        following = _AT_LINE_START.search(self._data, opening.end())
        return len(self._data) if following is None else following.start()
