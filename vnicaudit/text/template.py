"""Take template syntax (Jinja, ERB, Go) out of a configuration, and say what is left for sure.

Nothing is rendered. A line that a condition or a loop surrounds, or that an expression is part
of, is *uncertain*; where something may be put in that cannot be seen (an include, an expression
on a line of its own) the whole file is *open*.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.tags import HOLE, Tag, is_opened, tags


class TemplateLine(NamedTuple):
    """Remainder of one line after its tags are removed. ``section_lost``: from here on it is
    unknown which section this is, because a section may have begun inside a block. ``adrift``:
    something unknown was put in since the last plain section header, and that may have begun
    another section."""

    text: str
    certain: bool
    section_lost: bool
    adrift: bool = False


class PlainTemplate(NamedTuple):
    """A template without its syntax; as many lines as before. ``open_ended``: something unknown
    is put in somewhere."""

    lines: list[TemplateLine]
    open_ended: bool


def is_template(text: str) -> bool:
    """True for a text with any template syntax in it."""
    return is_opened(text, erb=True)


def plain(text: str) -> PlainTemplate:
    """The lines of a template that are configuration, the others empty. Linear in its size."""
    walk = _TemplateWalk()
    position = 0
    for tag in tags(text, erb=True):
        walk.between(text[position : tag.start])
        walk.tag(tag)
        position = tag.end
    walk.between(text[position:])
    walk.end_line()
    return PlainTemplate(_assignments(walk.lines), walk.open_ended)


class _TemplateWalk:
    """Goes over a template once, gathering lines."""

    def __init__(self) -> None:
        self.lines: list[TemplateLine] = []
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

    def tag(self, tag: Tag) -> None:
        """One tag; the lines it spans are kept, empty."""
        if tag.opener in ("{%", "%{"):
            self._statement(tag)
        elif tag.opener == "{{":
            self._parts.append(HOLE)
            self._certain = False
        elif tag.opener == "<%":
            self._opens()
            self._certain = False
        for _ in range(tag.text.count("\n")):
            self.end_line()

    def end_line(self) -> None:
        """Finish the current line."""
        text = "".join(self._parts)
        if text.startswith("["):
            self._section_in_block = self._section_in_block or self._depth > 0
            if HOLE in text:
                self._opens()
            elif self._depth == 0:
                self._adrift = False
        elif HOLE in text and not _is_value(text):
            self._opens()
        self.lines.append(TemplateLine(text, self._certain, self._section_lost, self._adrift))
        self._parts = []
        self._certain = self._depth == 0
        self._section_lost = False

    def _statement(self, tag: Tag) -> None:
        turn = tag.turn
        if turn == "begins":
            self._depth += 1
        elif turn in ("between", "ends"):
            self._depth = max(0, self._depth - (turn == "ends"))
            self._leave()
        elif turn == "inserts" or tag.word == "extends":  # what is extended stands around it
            self._opens()

    def _leave(self) -> None:
        self._section_lost = self._section_lost or self._section_in_block
        if self._depth == 0:
            self._section_in_block = False


def _is_value(text: str) -> bool:
    """The hole is in a comment, or in the value of an assignment, or continues one."""
    before = text.partition(HOLE)[0]
    return before.startswith(("#", ";")) or "=" in before or ":" in before


def _assignments(lines: list[TemplateLine]) -> list[TemplateLine]:
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
