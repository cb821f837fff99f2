"""Tags of templates (Jinja, Go, ERB, Terraform) in a text: where they are, and their effect.

Nothing is rendered. What a tag means for a file format is decided where that format is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

HOLE = "\ufffc"
"""Stands for text that a template fills in, whose value is unknown."""

_OPEN = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_OPEN_OR_ERB = re.compile(
    r"\{\{|\{%|(?<!\$)\{#|<%|(?<!%)%\{(?=~?\s*(?:if|else|endif|for|endfor)\b)"
)
"""``${#`` belongs to a shell; Terraform writes a literal ``%{`` as ``%%{``."""
CLOSE = {"{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>", "%{": "}"}

_BEGIN = frozenset({
    "if", "for", "macro", "call", "filter", "block", "raw", "with", "autoescape", "trans",  # Jinja
    "range", "define", "unless", "case", "while", "each",  # Go, ERB, Handlebars
})  # fmt: skip
_BETWEEN = frozenset({"else", "elif", "elsif", "when"})
_SILENT = frozenset({"set", "do", "import", "from", "extends", "break", "continue", "/*"})

_WORD = re.compile(r"[-+~\s]*(/\*|[A-Za-z_]\w*)?")
_ENDS_IN_DO = re.compile(r"\bdo\s*(?:\|[^|]*\|)?\s*-?\Z")
_DO = 200
"""Length of the end of a tag in which ERB's ``do |x|`` is searched."""
_BREAKS = r"[^\r\n]"

Turn = Literal["begins", "between", "ends", "silent", "inserts"]
"""Effect of a tag: it begins a part that ends further down (a condition, a loop, a macro),
separates two branches of it, or ends it; it outputs nothing; or it outputs something."""


class Tag(NamedTuple):
    """One tag of ``source``: its range ``[start, end)`` and its opening characters."""

    source: str
    start: int
    end: int
    opener: str

    @property
    def text(self) -> str:
        """The tag as it is written."""
        return self.source[self.start : self.end]

    @property
    def word(self) -> str:
        """The first word of the tag, which may be that of a statement; empty for a call or an
        attribute. For a comment of Go it is ``/*``."""
        match = _WORD.match(self.source, self.start + 2, self.end)
        return (match.group(1) or "") if match else ""

    @property
    def turn(self) -> Turn:
        """Effect of the tag on the text around it."""
        first = self.word
        if self.opener == "{#":
            return "silent"
        if first in _BEGIN or (self.opener == "{%" and self._begins(first)):
            return "begins"
        if first in _BETWEEN:
            return "between"
        if first.startswith("end"):
            return "ends"
        return "silent" if first in _SILENT else "inserts"

    def _begins(self, first: str) -> bool:
        """True if the tag begins a block although its first word does not say so: Jinja's ``{% set
        x %}``, ERB's ``<% xs.each do |x| %>`` (converted to ``{% … %}`` where ``<`` is not
        allowed)."""
        if first == "set":
            return "=" not in self.text
        return _ENDS_IN_DO.search(self.text[2:-2][-_DO:]) is not None

    def covered(self, mark: str) -> str:
        """``mark`` in place of each character of the tag, with its line breaks."""
        return re.sub(_BREAKS, mark, self.text)


def tags(text: str, *, erb: bool = False) -> Iterator[Tag]:
    """The tags in order. Linear in the size of the text: the end of a kind of tag that is never
    closed is searched for once. ``erb``: include tags of ERB and Terraform."""
    pattern = _OPEN_OR_ERB if erb else _OPEN
    never: set[str] = set()
    position = 0
    while (match := pattern.search(text, position)) is not None:
        start, opener = match.start(), match.group()
        close = -1 if opener in never else text.find(CLOSE[opener], match.end())
        if close < 0:
            never.add(opener)
            position = start + 1
            continue
        position = close + len(CLOSE[opener])
        if CLOSE[opener].startswith("}"):
            position = _behind_own_braces(text, match.end(), close, position)
        yield Tag(text, start, position, opener)


def is_opened(text: str, *, erb: bool = False) -> bool:
    """True if a tag begins in a text, even if it is not closed."""
    return (_OPEN_OR_ERB if erb else _OPEN).search(text) is not None


def with_holes(text: str) -> str:
    """The text with ``HOLE`` for each character of an expression and blanks for statements and
    comments; line breaks stay. A tag that is never closed is ordinary text."""
    parts: list[str] = []
    done = 0
    for tag in tags(text):
        parts += (text[done : tag.start], tag.covered(HOLE if tag.opener == "{{" else " "))
        done = tag.end
    return "".join((*parts, text[done:]))


def _behind_own_braces(text: str, start: int, close: int, end: int) -> int:
    """The end of a tag whose first closing braces are at ``close`` and end at ``end``. Closing
    braces that match braces opened within the tag belong to it (``{{ {a: {}}}}``); others do not
    (``{name: {{ .x }}}``)."""
    own = text.count("{", start, close) - text.count("}", start, close)
    return end + own if own > 0 and text.startswith("}" * own, end) else end
