"""Find where the documents of a blob begin and end, without parsing them."""

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
    """The documents in order, each from its XML declaration (or its root) to its root's end tag.

    A document that never ends is cut where the next one begins on a line of its own, so that it
    does not swallow the rest of the file. Documents in comments do not count.
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
            prolog = None  # it belongs to the document around the domain
        prolog = prolog or DOCTYPE.search(data, position, match.start())
        start = match.start() if prolog is None else prolog.start()
        lines += data.count(b"\n", counted, start)
        counted = start
        yield Span(start, end, lines)
        position = end


class _Comments:
    """Finds the ends of comments; queries must come in order of positions."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._last = data.rfind(b"-->")

    def behind(self, place: int, since: int) -> int:
        """The end of the comment that contains a place, 0 if none does. ``since``: an earlier
        position outside of comments."""
        while since <= self._last and (start := self._data.find(b"<!--", since, place)) >= 0:
            end = self._data.find(b"-->", start + 4)
            if end < 0:
                return 0
            since = end + 3
            if since > place:
                return since
        return 0

    def tag_within(self, start: int, end: int) -> bool:
        """True if an element begins between two positions, ignoring comments; ``start`` and ``end``
        must be outside of comments."""
        while (tag := _TAG.search(self._data, start, end)) is not None:
            start = self.behind(tag.start(), start)
            if not start:
                return True
        return False


class _Ends:
    """Ends of the elements of one name, with nested elements of that name counted: found in one
    pass over the file, even if many of them never end."""

    def __init__(self, data: bytes, root: bytes) -> None:
        self._data = data
        self._starts: list[int] = []
        self._ends: list[int] = []
        """For each tag: the end of the element that it begins, or of the tag itself if it begins
        none; -1 if the element never ends."""
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
        """The position behind the end tag of the element that ``opening`` begins."""
        number = bisect_left(self._starts, opening.start())
        if number < len(self._ends) and self._ends[number] >= 0:
            return self._ends[number]
        following = _AT_LINE_START.search(self._data, opening.end())
        return len(self._data) if following is None else following.start()
