"""Remove template syntax (Jinja, ERB, Go) from a configuration, and tell which of the rest is
certain.

Nothing is rendered. A line inside a condition or a loop, or with an expression in it, is
*uncertain*. If something unknown may be inserted (an include, an expression on a line of its own),
the whole file is *open*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

# Tags of templates (Jinja, Go, ERB, Terraform) in a text: where they are, and their effect.
#
# Nothing is rendered. What a tag means for a file format is decided where that format is read.


HOLE = "\ufffc"
"""Stands for text that a template fills in, whose value is unknown."""

_OPEN = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_OPEN_OR_ERB = re.compile(
    r"\{\{|\{%|(?<!\$)\{#|<%(?!%)|(?<!%)%\{(?=~?\s*(?:if|else|endif|for|endfor)\b)"
)
"""``${#`` belongs to a shell; Terraform writes a literal ``%{`` as ``%%{``, ERB ``<%`` as
``<%%``."""
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

_GO = re.compile(
    r"\{\{-?\s*(?:(?:if|range|with|define|block)\s+[^\s}-]|(?:else|end)\s*-?\}\}|else\s+(?:if|with)\s"
    r"|/\*|\$\w*\s*:?=(?!=))"
)
"""A block of Go's text/template, a comment, or an assignment."""
_CODE = re.compile(
    r"\"(?:[^\"\\]|\\.){0,200}\"|'(?:[^'\\]|\\.){0,200}'|#[^\n]*"
    r"|(?P<ends>\}|(?<![\w.:@$])end\b(?![?!:]))"
    r"|(?:\A|[\n;=(|])[ \t]*(?P<word>(?:while|until|for)\b[^\n;]*|(?:if|unless|case|begin|def)\b)"
    r"|(?P<begins>\{|(?<![\w.:@$])do\b(?![?!:]))",
    re.DOTALL,
)
"""What begins and ends blocks in Ruby, and in Puppet's EPP; strings and comments are passed over.
Ruby's ``while`` may have a ``do`` on its line, and a condition behind a statement is no block."""
_CODE_BETWEEN = re.compile(r"(?:else|elsif|when|in|rescue|ensure)\b")
_CODE_INSERTS = re.compile(r"\b(?:_erbout|concat|return|render|include|inherit|def)\b")
"""Code that may output something, or end the output (also tags of Mako)."""

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

    @property
    def is_statement_of_go(self) -> bool:
        """True for a tag in double braces that outputs nothing itself, as Jinja has none."""
        return self.opener == "{{" and _GO.match(self.text) is not None

    @property
    def erb_levels(self) -> tuple[int, int]:
        """For a statement of ERB or EPP: number of blocks around it that it ends, and number of
        those that it begins."""
        code = self.text[2:-2].strip("-").strip()
        if _CODE_BETWEEN.match(code) is not None:
            return 1, 1
        left = entered = 0
        for match in _CODE.finditer(code):
            if match["ends"]:
                left, entered = left + (entered == 0), max(0, entered - 1)
            elif match["begins"] or (match["word"] and not code.endswith("{")):
                entered += 1
        return left, entered

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


# Tell whether a configuration is a template (Jinja, ERB, Go, Terraform), and the lines of one
# without its syntax.


class TemplateLine(msgspec.Struct, frozen=True):
    """Remainder of one line after its tags are removed. ``section_lost``: from here on the section
    is unknown, because a section may have begun inside a block. ``adrift``: something unknown was
    inserted since the last plain section header, and may have begun another section."""

    text: str
    certain: bool
    section_lost: bool
    adrift: bool = False


def is_template(text: str) -> bool:
    """True for a text with any template syntax in it."""
    return is_opened(text, erb=True)


def plain(text: str) -> tuple[list[TemplateLine], bool]:
    """A template without its syntax, with the same number of lines, of which those that are not
    configuration are empty; and True if something unknown is inserted somewhere. Linear in its
    size."""
    walk = _TemplateWalk()
    position = 0
    for tag in tags(text, erb=True):
        walk.between(text[position : tag.start])
        walk.tag(tag)
        position = tag.end
    walk.between(text[position:])
    walk.end_line()
    return _assignments(walk.lines), walk.open_ended


class _TemplateWalk:
    """One pass over a template that gathers its lines."""

    def __init__(self) -> None:
        self.lines: list[TemplateLine] = []
        self.open_ended = False
        self._parts: list[str] = []
        self._depth = 0
        self._certain = True
        self._section_in_block = False
        self._section_lost = False
        self._adrift = False
        self._is_begun = False

    def _opens(self) -> None:
        self.open_ended = self._adrift = True

    def between(self, text: str) -> None:
        """Add text outside of tags. A tag that begins in it and is never closed may be anything."""
        self.open_ended = self.open_ended or is_opened(text, erb=True)
        for number, part in enumerate(text.split("\n")):
            if number:
                self.end_line()
            if part.strip():
                self._parts.append(part)
                self._certain = self._certain and self._depth == 0

    def tag(self, tag: Tag) -> None:
        """Add one tag; the lines that it spans stay, empty."""
        if tag.opener in ("{%", "%{") or tag.is_statement_of_go:
            self._statement(tag)
        elif tag.opener == "{{" or tag.text.startswith("<%="):
            self._parts.append(HOLE)
            self._certain = False
        elif tag.opener == "<%" and not tag.text[2:].lstrip("-").startswith("#"):
            self._erb_statement(tag)
        joins = tag.source.startswith(("-%>\n", "-}}\n"), tag.end - 3)
        if joins and (self._parts or (tag.opener == "{{" and self._is_begun)):
            self._opens()  # the next line is joined to this one, or to one above
        for _ in range(tag.text.count("\n")):
            self.end_line()

    def end_line(self) -> None:
        """Finish the current line."""
        text = "".join(self._parts)
        self._is_begun = self._is_begun or bool(text)
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
        elif tag.is_statement_of_go:
            return
        elif turn == "inserts" or tag.word == "extends":  # the extended template surrounds this one
            self._opens()

    def _erb_statement(self, tag: Tag) -> None:
        left, entered = tag.erb_levels
        if left > self._depth or _CODE_INSERTS.search(tag.text):
            self._opens()
        if left:
            self._depth = max(0, self._depth - left)
            self._leave()
        self._depth += entered
        self._certain = self._certain and not (self._parts and (left or entered))

    def _leave(self) -> None:
        self._section_lost = self._section_lost or self._section_in_block
        if self._depth == 0:
            self._section_in_block = False


def _is_value(text: str) -> bool:
    """True if the hole is in a comment or in the value of an assignment."""
    before = text.partition(HOLE)[0]
    return before.startswith(("#", ";")) or "=" in before or ":" in before


def _assignments(lines: list[TemplateLine]) -> list[TemplateLine]:
    """The lines, with those that are not configuration made empty, so that the rest can be
    parsed."""
    kept = []
    in_value = False
    for line in lines:
        text = line.text.rstrip()
        if text.startswith((" ", "\t")):
            good = in_value
        else:
            good = in_value = _is_assignment(text)
            header = len(text) > 2 and text.startswith("[") and text.endswith("]")
            good = good or text.startswith("#") or header
        kept.append(line if good else replace(line, text=""))
    return kept


def _is_assignment(text: str) -> bool:
    key = re.split("[=:]", text, maxsplit=1)
    begins_one = bool(key[0].strip()) and not text.startswith(("#", ";", "[", "<%"))
    return len(key) == 2 and begins_one
