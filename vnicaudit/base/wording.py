"""Words of messages: how many there are of a thing; of what a user wrote and nobody knows, what he
may have meant, and how it is quoted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SHOWN = 80


def count(number: int, word: str) -> str:
    """``1 domain``, ``12,345 domains``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def told_apart(named: Iterable[tuple[str, ...]]) -> list[str]:
    """Names, each given with what tells it from others of that name, the plainest first: ``web``,
    and ``web (kvm2)`` where several are called so."""
    named = list(named)
    groups: dict[str, set[tuple[str, ...]]] = {}
    for name, *rest in named:
        groups.setdefault(name, set()).add(tuple(rest))
    differing = {name: _differing(group) for name, group in groups.items()}
    return [_told_apart(name, rest, differing[name]) for name, *rest in named]


def _differing(group: set[tuple[str, ...]]) -> list[int]:
    """The places at which not all of a group have one value."""
    return [place for place, values in enumerate(zip(*group, strict=True)) if len(set(values)) > 1]


def _told_apart(name: str, own: Sequence[str], differing: Sequence[int]) -> str:
    values = (own[place] for place in differing)
    return next((f"{name} ({value})" for value in values if value and value != name), name)


def close_to(word: str, known: Sequence[str]) -> str:
    """``; did you mean '…'?``, or nothing where nothing comes close."""
    close = closest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def closest(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant; empty where none comes close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, 1)), "")


def shortened(text: str) -> str:
    """A user's text, short enough for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
