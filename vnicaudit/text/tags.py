"""Tags of templates (Jinja, Go, ERB, Terraform) in a text: where they are, their first words.

Nothing is rendered. What a tag means to a format is told where that format is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPEN = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_OPEN_OR_ERB = re.compile(
    r"\{\{|\{%|(?<!\$)\{#|<%|(?<!%)%\{(?=~?\s*(?:if|else|endif|for|endfor)\b)"
)
"""``${#`` is a shell's; ``%%{`` is how Terraform writes ``%{``."""
CLOSE = {"{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>", "%{": "}"}

BEGIN = frozenset({
    "if", "for", "macro", "call", "filter", "block", "raw", "with", "autoescape", "trans",  # Jinja
    "range", "define", "unless", "case", "while", "each",  # Go, ERB, Handlebars
})  # fmt: skip
"""What begins something that ends further down."""
BETWEEN = frozenset({"else", "elif", "elsif", "when"})
SILENT = frozenset({"set", "do", "import", "from", "extends", "break", "continue", "/*"})
"""What puts nothing in."""

_WORD = re.compile(r"[-+~\s]*(/\*|[A-Za-z_]\w*)?")


class Tag(NamedTuple):
    """One tag: ``[start, end)``, and what it begins with."""

    start: int
    end: int
    opener: str


def tags(text: str, *, erb: bool = False) -> Iterator[Tag]:
    """The tags in order. Linear in the size: an opener that nothing closes is looked at once.
    ``erb``: those of ERB and Terraform, too."""
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
        position = _end(text, match.end(), close, len(CLOSE[opener]))
        yield Tag(start, position, opener)


def is_opened(text: str, *, erb: bool = False) -> bool:
    """Whether a tag begins in a text, be it closed or not."""
    return (_OPEN_OR_ERB if erb else _OPEN).search(text) is not None


def word(tag: str) -> str:
    """The first word of a tag, which may be a statement's; a call or an attribute has none that
    is. A comment's of Go is ``/*``."""
    match = _WORD.match(tag, 2)
    return (match.group(1) or "") if match else ""


def is_statement(first: str) -> bool:
    """Whether a tag that begins with this word decides about others, or puts nothing in."""
    return first in BEGIN or first in BETWEEN or first in SILENT or first.startswith("end")


def _end(text: str, start: int, close: int, size: int) -> int:
    """Behind a tag whose first close is at ``close``: braces that it opens itself are its own
    (``{{ {a: {}}}}``), and others are not (``{name: {{ .x }}}``)."""
    own = text.count("{", start, close) - text.count("}", start, close)
    return close + size + (own if own > 0 and text.startswith("}" * own, close + size) else 0)
