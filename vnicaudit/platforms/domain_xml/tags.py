"""Find elements and attributes of a document in its bytes.

This is for documents that libxml2 has parsed already: well-formed, without a document type. libxml2
records lines but no positions, so the tags are searched again. It works on bytes in every encoding
that contains ASCII unchanged: there ``<``, ``>``, quotes and ``=`` are never part of another
character.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|</[^<>]*>"
    rb"|<([^\s<>/!?=\"']+)(?=[\s/>])([^<>\"']*(?:(?:\"[^\"<]*\"|'[^'<]*')[^<>\"']*)*)>",
    re.DOTALL,
)
"""Groups 1 and 2: name and attributes of a start tag, or of ``<a/>``. Everything else is matched as
a whole, so that nothing in it is taken for a tag."""
_SLASH = ord("/")
_ATTRIBUTE = re.compile(rb"(?<!\s)(\s+)([^\s=\"'<>/]+)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_DEFAULT_NAMESPACE = re.compile(rb"\sxmlns\s*=\s*(?:\"[^\"]|'[^'])")

_MOST_ATTRIBUTES = 500
"""Attributes of one element; no element of a domain has thirty. libxml2 takes the square of their
number to read them, in C code that no signal interrupts."""
_SHORTEST = len(b" a=''")

FOREIGN = b"{}"
"""Name of an element in a default namespace, which is not libvirt's."""


class Attribute(NamedTuple):
    """One attribute. ``start`` is before the blanks that precede it, ``end`` behind its closing
    quote; the value is between ``value_start`` and ``value_end``."""

    name: bytes
    start: int
    name_start: int
    value_start: int
    value_end: int
    end: int


class Element:
    """One element: ``start`` to ``end``; its start tag ends at ``open_end``, its end tag begins at
    ``close_start`` (for ``<a/>`` the same as ``open_end``). ``children`` are those on the requested
    path, and all below it."""

    __slots__ = ("children", "close_start", "end", "name", "open_end", "start")

    def __init__(self, name: bytes, start: int, open_end: int) -> None:
        self.name = name
        self.start = start
        self.open_end = self.close_start = self.end = open_end
        self.children: list[Element] = []

    @property
    def is_single(self) -> bool:
        """True for an element that is a single tag, ``<a/>``."""
        return self.end == self.open_end

    def first(self, name: bytes) -> Element | None:
        """The first child of that name, which is the one that libvirt reads."""
        return next((child for child in self.children if child.name == name), None)


def is_crowded(data: bytes) -> bool:
    """True if an element has more attributes than any of a domain."""
    if len(data) <= _MOST_ATTRIBUTES * _SHORTEST:
        return False
    longest = max(map(len, data.split(b"<")))
    return longest > _MOST_ATTRIBUTES * _SHORTEST and any(
        map(_has_many_attributes, _TAG.finditer(data))
    )


def _has_many_attributes(tag: re.Match[bytes]) -> bool:
    inside = tag[2] or b""
    if inside.count(b"=") <= _MOST_ATTRIBUTES:
        return False
    return sum(1 for _each in _ATTRIBUTE.finditer(inside)) > _MOST_ATTRIBUTES


def attributes(data: bytes, element: Element) -> list[Attribute]:
    """The attributes of an element, in order."""
    found = []
    for match in _ATTRIBUTE.finditer(data, element.start, element.open_end):
        group = 3 if match.start(3) >= 0 else 4
        found.append(
            Attribute(
                match[2],
                match.start(),
                match.start(2),
                match.start(group),
                match.end(group),
                match.end(),
            )
        )
    return found


def tree(data: bytes, start: int, path: tuple[bytes, ...]) -> Element | None:
    """The first element at or behind ``start``, with its children along ``path`` (names below it)
    and everything below the last of these. None if there is none, or if it never ends.
    """
    walk = _ElementWalk(path)
    passed = 0  # depth within an ignored element; most of a domain is ignored, so this path is fast
    for match in _TAG.finditer(data, start):
        if match[1] is None:
            if data[match.start() + 1] != _SLASH:
                continue
            if passed:
                passed -= 1
            elif walk.close(match):
                return walk.root
        elif passed or not walk.open(match):
            passed += data[match.end() - 2] != _SLASH
        elif data[match.end() - 2] == _SLASH and walk.leave():
            return walk.root
    return None


class _ElementWalk:
    """Goes over the tags of one element. ``stack`` holds the open elements that are kept."""

    def __init__(self, path: tuple[bytes, ...]) -> None:
        self.root: Element | None = None
        self.stack: list[Element] = []
        self._path = path
        self._foreign: int | None = None
        """Depth of the element whose default namespace applies."""

    def open(self, match: re.Match[bytes]) -> bool:
        """Handle a start tag, or ``<a/>``: keep its element and return True, or return False if it
        is not on the path."""
        depth = len(self.stack)
        foreign = self._foreign is not None
        if not foreign and b"xmlns" in match[2] and _DEFAULT_NAMESPACE.search(match[2]):
            foreign = True
        name = FOREIGN if foreign else match[1]
        if 0 < depth <= len(self._path) and name != self._path[depth - 1]:
            return False
        if foreign and self._foreign is None:
            self._foreign = depth
        element = Element(name, match.start(), match.end())
        if depth:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        return True

    def close(self, match: re.Match[bytes]) -> bool:
        """Handle an end tag; returns True if it is the root's."""
        if self.stack:
            element = self.stack[-1]
            element.close_start, element.end = match.span()
        return self.leave()

    def leave(self) -> bool:
        """End the innermost element; returns True if it is the root."""
        if self.stack:
            self.stack.pop()
            if self._foreign == len(self.stack):
                self._foreign = None
        return not self.stack
