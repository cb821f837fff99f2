"""Jinja in a text -> the same text with holes, every other character where it was."""

from __future__ import annotations

import re

HOLE = "\ufffc"
"""Stands for each character of an expression, whose text is not known."""

_OPEN = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_CLOSE = {"{{": "}}", "{%": "%}", "{#": "#}"}
_LINES = re.compile(r"[^\n]+")


def without_templates(text: str) -> str:
    """Expressions become holes, statements and comments blanks; lines stay lines. What is opened
    and never closed is no template."""
    parts: list[str] = []
    unclosed: set[str] = set()
    done = at = 0
    while match := _OPEN.search(text, at):
        start, opening = match.start(), match.group()
        closing = _CLOSE[opening]
        end = -1 if opening in unclosed else text.find(closing, match.end())
        if end < 0:
            unclosed.add(opening)
            at = start + 1
            continue
        at = end + len(closing)
        filler = HOLE if opening == "{{" else " "
        parts += (text[done:start], _covered(text[start:at], filler))
        done = at
    return "".join((*parts, text[done:]))


def _covered(tag: str, filler: str) -> str:
    return _LINES.sub(lambda match: filler * len(match.group()), tag)
