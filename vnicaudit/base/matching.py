"""Words of a user that are not known: what he may have meant, and how they are quoted."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 80


def close_to(word: str, known: Sequence[str]) -> str:
    """``; did you mean '…'?``, or nothing where nothing comes close."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def shortened(text: str) -> str:
    """A user's text, short enough for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
