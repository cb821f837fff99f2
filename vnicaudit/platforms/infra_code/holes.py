"""Jinja in a text -> the same text with holes, every other character where it was."""

from __future__ import annotations

import re

HOLE = "\ufffc"
"""Stands for each character of an expression, whose text is not known."""

_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|(?<!\$)\{#.*?#\}", re.DOTALL)


def without_templates(text: str) -> str:
    """Expressions become holes, statements and comments blanks; lines stay lines."""
    return _JINJA.sub(_covered, text) if "{" in text else text


def _covered(match: re.Match[str]) -> str:
    tag = match.group()
    filler = HOLE if tag.startswith("{{") else " "
    return "".join("\n" if char == "\n" else filler for char in tag)
