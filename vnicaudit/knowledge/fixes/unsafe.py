"""The wording for a change that may do harm."""

from __future__ import annotations


def unsafe_because(reason: str) -> str:
    """The sentence that follows an unsafe fix."""
    return f"Unsafe: {reason}."
