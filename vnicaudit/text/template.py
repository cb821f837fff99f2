"""Take template syntax (Jinja, ERB, Go) out of a configuration, and say what is left for sure.

Nothing is rendered. A line that a condition or a loop surrounds, or that an expression is part
of, is *uncertain*; where something may be put in that cannot be seen (an include, an expression
on a line of its own) the whole file is *open*.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.tags import BEGIN, BETWEEN, CLOSE, is_opened, tags

_HOLE = "\ufffc"
"""Stands for an expression's unknown text."""

_HARMLESS = frozenset({"import", "from", "do"})


class Line(NamedTuple):
    """What is left of one line. ``section_lost``: from here on it is unknown which section this
    is, because a section may have begun inside a block. ``adrift``: something unknown was put in
    since the last plain section header, and that may have begun another section."""

    text: str
    certain: bool
    section_lost: bool
    adrift: bool = False


class Plain(NamedTuple):
    """A template without its syntax; as many lines as before. ``open_ended``: something unknown
    is put in somewhere."""

    lines: list[Line]
    open_ended: bool


def is_template(text: str) -> bool:
    """Whether there is any template syntax in it."""
    return is_opened(text, erb=True)


def plain(text: str) -> Plain:
    """The lines of a template that are configuration, the others empty. Linear in its size."""
    walk = _Walk()
    position = 0
    for tag in tags(text, erb=True):
        walk.between(text[position : tag.start])
        position = tag.end
        walk.tag(tag.opener, text[tag.start + 2 : position - len(CLOSE[tag.opener])])
    walk.between(text[position:])
    walk.end_line()
    return Plain(_assignments(walk.lines), walk.open_ended)


class _Walk:
    """Goes over a template once, gathering lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.open_ended = False
        self._parts: list[str] = []
        self._depth = 0
        self._certain = True
        self._section_in_block = False
        self._section_lost = False
        self._adrift = False

    def _opens(self) -> None:
        self.open_ended = self._adrift = True

    def between(self, text: str) -> None:
        """Text outside of tags. One that begins in it and is never closed may be anything."""
        self.open_ended = self.open_ended or is_opened(text, erb=True)
        for number, part in enumerate(text.split("\n")):
            if number:
                self.end_line()
            if part.strip():
                self._parts.append(part)
                self._certain = self._certain and self._depth == 0

    def tag(self, kind: str, body: str) -> None:
        """One tag; the lines it spans are kept, empty."""
        if kind in ("{%", "%{"):
            self._statement(body.strip("~"))
        elif kind == "{{":
            self._parts.append(_HOLE)
            self._certain = False
        elif kind == "<%":
            self._opens()
            self._certain = False
        for _ in range(body.count("\n")):
            self.end_line()

    def end_line(self) -> None:
        """Finish the current line."""
        text = "".join(self._parts)
        if text.startswith("["):
            self._section_in_block = self._section_in_block or self._depth > 0
            if _HOLE in text:
                self._opens()
            elif self._depth == 0:
                self._adrift = False
        elif _HOLE in text and not _is_value(text):
            self._opens()
        self.lines.append(Line(text, self._certain, self._section_lost, self._adrift))
        self._parts = []
        self._certain = self._depth == 0
        self._section_lost = False

    def _statement(self, body: str) -> None:
        word = (body.strip("-+ \t\r\n").split(None, 1) or [""])[0]
        if word.startswith("end"):
            self._depth = max(0, self._depth - 1)
            self._leave()
        elif word in BETWEEN:
            self._leave()
        elif word in BEGIN or (word == "set" and "=" not in body):
            self._depth += 1
        elif word != "set" and word not in _HARMLESS:
            self._opens()

    def _leave(self) -> None:
        self._section_lost = self._section_lost or self._section_in_block
        if self._depth == 0:
            self._section_in_block = False


def _is_value(text: str) -> bool:
    """The hole is in a comment, or in the value of an assignment, or continues one."""
    before = text.partition(_HOLE)[0]
    return before.startswith(("#", ";")) or "=" in before or ":" in before


def _assignments(lines: list[Line]) -> list[Line]:
    """Lines that are no configuration made empty, so that the rest can be parsed."""
    kept = []
    in_value = False
    for line in lines:
        text = line.text.rstrip()
        if text.startswith((" ", "\t")):
            good = in_value
        else:
            good = in_value = _is_assignment(text)
            good = good or text.startswith("#") or _is_header(text)
        kept.append(line if good else line._replace(text=""))
    return kept


def _is_header(text: str) -> bool:
    return len(text) > 2 and text.startswith("[") and text.endswith("]")


def _is_assignment(text: str) -> bool:
    key = re.split("[=:]", text, maxsplit=1)
    return len(key) == 2 and bool(key[0].strip()) and not text.startswith(("#", ";", "["))
