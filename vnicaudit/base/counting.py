"""Numbers of things, in words."""

from __future__ import annotations


def count(number: int, word: str) -> str:
    """``1 domain``, ``12,345 domains``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
