"""How it is said that a change may do harm."""

from __future__ import annotations


def unsafe_because(reason: str) -> str:
    """The sentence behind a fix."""
    return f"Unsafe: {reason}."
