"""Suggestions for misspelt names.

Two names are similar if one letter, or one word between underscores, is additional, missing,
different, or swapped with the next. They are compared by the rests of each name without one of its
letters or words, so that the cost depends only on the length of a name, not on the number of names:
a file may have hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_LONGEST = 80
"""Maximum number of letters of a name that is checked: no option of Nova has half as many."""
_FEWEST = 6
"""Minimum number of letters of a name that may differ in one letter."""
_WORDS = 2
"""Minimum number of words that must remain when one is removed."""


class Spelling:
    """Finds which of some names may have been meant."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_letters: dict[str, set[str]] = {}
        self._by_words: dict[str, set[str]] = {}
        for name in names:
            for left in _without_a_letter(name.lower()):
                self._by_letters.setdefault(left, set()).add(name)
            for left in _without_a_word(name.lower()):
                self._by_words.setdefault(left, set()).add(name)

    def likely(self, written: str) -> tuple[str, ...]:
        """The names that may have been meant, sorted: those that differ by a letter, or else those
        that differ by a word. Empty if none is similar."""
        if len(written) > _LONGEST:
            return ()
        plain = written.lower().replace("-", "_")
        for index, parts in (
            (self._by_letters, _without_a_letter(plain)),
            (self._by_words, _without_a_word(plain)),
        ):
            found = {name for part in parts for name in index.get(part, ())}
            if found - {written}:
                return tuple(sorted(found - {written}))
        return ()


def _without_a_letter(name: str) -> Iterator[str]:
    yield name
    if len(name) >= _FEWEST:
        yield from (name[:place] + name[place + 1 :] for place in range(len(name)))


def _without_a_word(name: str) -> Iterator[str]:
    words = name.split("_")
    yield name
    if len(words) > _WORDS:
        yield from ("_".join(words[:n] + words[n + 1 :]) for n in range(len(words)))
