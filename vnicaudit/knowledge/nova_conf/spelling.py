"""Suggestions for misspelt names.

Two names are alike where one letter, or one word between underscores, is too much, missing, another
one, or has changed places with the next. Told by what is left of each name without one of its
letters or words, so that the cost of a name depends on its length alone, never on how many others
there are: a file may have hundreds of thousands of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_LONGEST = 80
"""Letters of a name that is looked at: no option of Nova's has half as many."""
_FEWEST = 6
"""Letters that a name needs to be told by all but one of them."""
_WORDS = 2
"""Words that have to be left when one is taken out."""


class Spelling:
    """Which of some names may be meant."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_letters: dict[str, set[str]] = {}
        self._by_words: dict[str, set[str]] = {}
        for name in names:
            for left in _without_a_letter(name.lower()):
                self._by_letters.setdefault(left, set()).add(name)
            for left in _without_a_word(name.lower()):
                self._by_words.setdefault(left, set()).add(name)

    def likely(self, written: str) -> tuple[str, ...]:
        """The names that may be meant, sorted; those that differ by a letter go before those that
        differ by a word, which are not looked for then. Empty where none is alike."""
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
