"""Take template syntax (Helm and other Go templates, Jinja) out of YAML, every position kept.

Nothing is rendered. An expression becomes as many ``HOLE`` characters, a statement on a line of
its own becomes blanks; what stands under a condition or in a loop, and where something unseen is
put in, is noted by position. So what is left can be read as YAML, and a place in it is a place in
the template.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

HOLE = "\ufffc"
"""Stands for each character of an expression: what it becomes is not known."""

_OPEN = re.compile(r"\{\{|\{%|\{#")
_CLOSE = {"{{": "}}", "{%": "%}", "{#": "#}"}
_WORD = re.compile(r"[-+~\s]*(/\*|[A-Za-z_]\w*)?")
_INDENT = re.compile(r"\bn?indent\s+(\d{1,3})|\bindent\((\d{1,3})")
_BEGIN = frozenset({
    "if", "range", "with", "define", "block",  # Go
    "for", "macro", "call", "filter", "raw", "autoescape", "trans",  # Jinja
})  # fmt: skip
_BETWEEN = frozenset({"else", "elif", "elsif"})
_SILENT = frozenset({"set", "do", "import", "from", "extends", "break", "continue", "/*"})


class Insertion(NamedTuple):
    """Something unseen is put in at ``start``, indented by ``indent`` where that is said."""

    start: int
    indent: int


class Mask(NamedTuple):
    """A template as YAML. ``blocks``: the ranges that a condition or a loop surrounds, ordered by
    their start; a range holds what is in ``[start, end)``."""

    text: str
    blocks: tuple[tuple[int, int], ...] = ()
    insertions: tuple[Insertion, ...] = ()

    def inserted(self, start: int, end: int) -> tuple[Insertion, ...]:
        """What is put in between two positions."""
        first = bisect_right(self.insertions, (start - 1, 1 << 30))
        last = bisect_right(self.insertions, (end - 1, 1 << 30))
        return self.insertions[first:last]

    def conditional(self, outer: int, inner: int) -> bool:
        """Whether something at ``inner`` is under a condition that ``outer`` is not under."""
        return any(start <= inner < end and not start <= outer < end for start, end in self.blocks)


def is_template(text: str) -> bool:
    """Whether there may be template syntax in it."""
    return "{{" in text or "{%" in text or "{#" in text


def masked(text: str) -> Mask:
    """The template as YAML of the same length. Linear in its size, but for nested blocks."""
    walk = _Walk(text)
    position = 0
    while (match := _OPEN.search(text, position)) is not None:
        end = text.find(_CLOSE[match.group()], match.end())
        if end < 0:
            break
        position = _end(text, match.end(), end)
        walk.tag(match.group(), match.start(), position)
    return walk.mask(position)


def _end(text: str, start: int, close: int) -> int:
    """Behind a tag whose first close is at ``close``: braces that it opens itself are its own
    (``{{ {a: {}}}}``), and others are not (``{name: {{ .x }}}``)."""
    own = text.count("{", start, close) - text.count("}", start, close)
    return close + 2 + (own if own > 0 and text.startswith("}" * own, close + 2) else 0)


class _Walk:
    """Goes over a template once, gathering what is left."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._parts: list[str] = []
        self._taken = 0
        self._open: list[int] = []
        self._blocks: list[tuple[int, int]] = []
        self._insertions: list[Insertion] = []
        self._alone_until = -1

    def tag(self, kind: str, start: int, end: int) -> None:
        """One tag, from its opening to behind its close."""
        text = self._source
        line = max(text.rfind("\n", 0, start) + 1, self._alone_until)
        alone = not text[line:start].strip() and not _rest_of_line(text, end)
        self._alone_until = end if alone else -1
        self._parts.append(text[self._taken : start])
        self._taken = end
        body = text[start:end]
        if kind == "{#":
            self._parts.append(_blank(body, " "))
            return
        word = _word(body)
        self._block(word, end)
        if not alone:
            self._parts.append(_blank(body, HOLE))
            return
        self._parts.append(_blank(body, " "))
        if (kind == "{{" and not _is_statement(word)) or word == "include":
            indent = _INDENT.search(body)
            column = start - (text.rfind("\n", 0, start) + 1)
            said = next((int(group) for group in indent.groups() if group), 0) if indent else column
            self._insertions.append(Insertion(start, said))

    def mask(self, end: int) -> Mask:
        """All of it, with the text behind the last tag."""
        self._parts.append(self._source[max(end, self._taken) :])
        for start in self._open:  # never closed: the rest of the file
            self._blocks.append((start, len(self._source) + 1))
        return Mask("".join(self._parts), tuple(sorted(self._blocks)), tuple(self._insertions))

    def _block(self, word: str, end: int) -> None:
        if word in _BEGIN:
            self._open.append(end)
        elif self._open and (word.startswith("end") or word in _BETWEEN):
            self._blocks.append((self._open.pop(), end))
            if word in _BETWEEN:
                self._open.append(end)


def _word(body: str) -> str:
    """The first word of a tag; a call or an attribute has none that is a statement's."""
    match = _WORD.match(body, 2)
    return (match.group(1) or "") if match else ""


def _is_statement(word: str) -> bool:
    return word in _BEGIN or word in _BETWEEN or word in _SILENT or word.startswith("end")


def _rest_of_line(text: str, position: int) -> str:
    """What stands behind a tag on its line, other tags not counted."""
    end = text.find("\n", position)
    rest = text[position : len(text) if end < 0 else end].strip()
    return "" if rest.startswith(("{{", "{%", "{#")) and rest.endswith("}") else rest


def _blank(body: str, mark: str) -> str:
    """As long as ``body``, with its line breaks."""
    return re.sub(r"[^\r\n]", mark, body)
