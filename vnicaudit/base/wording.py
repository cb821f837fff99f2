"""Words for messages: counts, quoting, and "did you mean" suggestions for unknown names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from os.path import commonprefix

# Names of several things, each with what distinguishes it from others of the same name.


def told_apart(named: Iterable[tuple[str, ...]]) -> list[str]:
    """Names, each followed by what distinguishes it from others of that name, simplest first:
    ``web``; ``web (kvm2)`` if several have that name; ``web (d.xml, line 9)`` if some of these are
    in one file."""
    named = list(named)
    groups: dict[str, set[tuple[str, ...]]] = {}
    for name, *rest in named:
        groups.setdefault(name, set()).add(tuple(rest))
    alike = {name: _Alike(group) for name, group in groups.items()}
    return [alike[name].told_apart(name, rest) for name, *rest in named]


def shared_folder(paths: Iterable[str]) -> int:
    """Characters with which all of these paths begin, up to the last slash in them; 0 for URIs."""
    shared = commonprefix(list(paths))  # noqa: RUF071 - cut at a slash
    return 0 if "://" in shared else shared.rfind("/") + 1


class _Alike:
    """Things with the same name, the positions at which their values differ, and how many of them
    share the first of these values."""

    def __init__(self, group: set[tuple[str, ...]]) -> None:
        columns = enumerate(zip(*group, strict=True))
        self._places = [place for place, values in columns if len(set(values)) > 1]
        self._shared = Counter(
            self._own(values)[:number]
            for values in group
            for number in range(1, len(self._places) + 1)
        )

    def told_apart(self, name: str, values: Sequence[str]) -> str:
        """The name, followed by as many of the values as are needed."""
        needed: list[str] = []
        own = self._own(values)
        for number, value in enumerate(own):
            if needed and self._shared[own[:number]] == 1:
                break
            needed.extend([value] if value and value != name else [])
        return f"{name} ({', '.join(needed)})" if needed else name

    def _own(self, values: Sequence[str]) -> tuple[str, ...]:
        return tuple([values[place] for place in self._places])


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
