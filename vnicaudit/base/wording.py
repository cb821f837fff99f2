"""Words for messages: counts, quoting, and "did you mean" suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 80


def count(number: int, word: str) -> str:
    """``1 domain``, ``12,345 domains``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def close_to(word: str, known: Sequence[str]) -> str:
    """``; did you mean '…'?``, or nothing if no known word is close."""
    close = closest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def closest(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant; empty if none is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, 1)), "")


def shortened(text: str) -> str:
    """A user's text, cut to fit into a message; at a colon, if the ``@`` that would show a password
    before it is cut off."""
    if len(text) <= _SHOWN:
        return text
    end = text.find(":", 0, _SHOWN) + 1 if "@" in text[_SHOWN:] else 0
    return f"{text[: end or _SHOWN]}…"
