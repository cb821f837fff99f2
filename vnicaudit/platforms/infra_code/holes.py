"""Jinja in a text -> the same text with holes, every other character where it was."""

from __future__ import annotations

import re

from vnicaudit.text.tags import tags

HOLE = "\ufffc"
"""Stands for each character of an expression, whose text is not known."""

_LINES = re.compile(r"[^\n]+")


def without_templates(text: str) -> str:
    """Expressions become holes, statements and comments blanks; lines stay lines. What is opened
    and never closed is no template."""
    parts: list[str] = []
    done = 0
    for tag in tags(text):
        filler = HOLE if tag.opener == "{{" else " "
        parts += (text[done : tag.start], _covered(text[tag.start : tag.end], filler))
        done = tag.end
    return "".join((*parts, text[done:]))


def _covered(tag: str, filler: str) -> str:
    return _LINES.sub(lambda match: filler * len(match.group()), tag)
