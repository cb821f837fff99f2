"""Removes from free text (messages, fixes, errors, notes) everything that identifies a site.

A text is split into words. Names in the run's records are replaced everywhere, even if they are
ordinary words. Of the other words, only numbers, versions and words of vnicaudit's own sentences
are kept (:mod:`vnicaudit.reports.redaction.words`); the rest is replaced, because names of a site's
bridges, networks and options occur in messages without being in any field.
"""

from __future__ import annotations

import re

from vnicaudit.base.identifiers import ANY_UUID
from vnicaudit.reports.redaction.pseudonyms import Prefix, Pseudonyms
from vnicaudit.reports.redaction.words import public_words

_EDGE = "\"'`()[]{}<>,;.:!?…"
_WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;=|*]+")
_NUMBER = re.compile(
    r"[-+~≥≤±]?[0-9](?:[.,:%]{0,3}[0-9]){0,5}[.,:%]{0,3}[A-Za-z%]?|0x[0-9a-f]{1,6}|\W+"
)
"""A number of at most six digits: a longer one may be a MAC address without colons."""
_MAC = re.compile(r"[0-9a-fA-F]{1,2}([:-])(?:[0-9a-fA-F]{1,2}\1){4}[0-9a-fA-F]{1,2}", re.ASCII)
_MACHINE = re.compile(
    r"(?:pc|q35|virt|pseries|s390-ccw-virtio|pc-i440fx|pc-q35)(?:-(?:rhel)?\d+(?:\.\d+){1,2})?"
)
_LINE = re.compile(r"(?P<place>.*?)(?P<line>(?::\d+){1,2})")
_RELEASE = re.compile(r"\d{1,4}(?:\.\d{1,3}){1,2}(?:~?rc\d+)?", re.ASCII)
_RULE_OR_DATE = re.compile(r"(?:VNIC|SUPP)\d{0,3}|\d{4}-\d\d-\d\d", re.ASCII)
"""The rule of a suppression, and its last day."""
_ANY_DIGITS = re.compile(r"\d+", re.ASCII)
_REMEMBERED = 20_000
MAX_NAMES = 1_000_000
"""Maximum names of a run that are recognised in texts (about 200 bytes each)."""


class TextRedactor:
    """Redacts texts, and learns the names of a run as its records pass."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._public = public_words()
        self._known: dict[str, str] = {}
        self._begin: dict[str, list[str]] = {}
        self._done: dict[str, tuple[frozenset[str], str]] = {}

    def learn(self, name: str, pseudonym: str) -> None:
        """Recognise ``name`` in every text from now on. Names of digits only, or of one character,
        are not learned: every such number would be replaced."""
        if len(name) < 2 or name in self._known or _ANY_DIGITS.fullmatch(name):
            return
        first = _WORD.search(name)
        if first is None or len(self._known) >= MAX_NAMES:
            return
        self._known[name] = pseudonym
        self._begin.setdefault(_core(first[0]), []).append(name)
        if len(self._begin[_core(first[0])]) > 1:
            self._begin[_core(first[0])].sort(key=len, reverse=True)

    def redacted(self, text: str) -> str:
        """The text with a pseudonym for each name in it."""
        cached = self._done.get(text)
        if cached is not None and self._begin.keys().isdisjoint(cached[0]):
            return cached[1]
        words = frozenset(_core(found[0]) for found in _WORD.finditer(text))
        if not self._begin.keys().isdisjoint(words):
            return self._with_names(text)
        made = self._words(text)
        if len(self._done) < _REMEMBERED:
            self._done[text] = (words, made)
        return made

    def _with_names(self, text: str) -> str:
        """Replace known names by their pseudonyms wherever they are whole words."""
        made: list[str] = []
        after = 0
        for word in _WORD.finditer(text):
            if word.start() < after:
                continue
            place = self._known_at(text, word[0], word.start(), after)
            if place is not None:
                begin, name = place
                made += [self._words(text[after:begin]), self._known[name]]
                after = begin + len(name)
        return "".join([*made, self._words(text[after:])])

    def _known_at(self, text: str, word: str, start: int, after: int) -> tuple[int, str] | None:
        core = _core(word)
        place = start + word.index(core)
        for name in self._begin.get(core, ()):
            begin = place - name.index(core)
            if begin >= after and text.startswith(name, begin) and _ends(text, begin + len(name)):
                return begin, name
        return None

    def _words(self, text: str) -> str:
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def _word(self, word: str) -> str:
        core = _core(word)
        if not core or word.casefold() in self._public:
            return word
        before, _, after = word.partition(core)
        return f"{before}{self._replaced(core)}{after}"

    def _replaced(self, word: str) -> str:
        """Replace a word without its surrounding punctuation."""
        made = self._pseudonyms
        if word.casefold() in self._public or _RULE_OR_DATE.fullmatch(word):
            return word
        if ANY_UUID.fullmatch(word):
            return made.identity(word)
        if _MAC.fullmatch(word):
            return made.mac(word)
        address, slash, length = word.partition("/")
        if (replaced := made.address(address)) is not None and (not slash or length.isdigit()):
            return f"{replaced}{slash}{length}"
        address, _colon, port = word.rpartition(":")
        if port.isdigit() and (replaced := made.address(address)) is not None:
            return f"{replaced}:{port}"
        if _NUMBER.fullmatch(word) or _RELEASE.fullmatch(word) or _MACHINE.fullmatch(word):
            return word
        return self._place(word)

    def _place(self, word: str) -> str:
        """A target, a path (with its line), a host with its port, or a name of unknown kind."""
        made = self._pseudonyms
        if "://" in word or word.startswith("openstack:"):
            return made.target(word)
        if (place := _LINE.fullmatch(word)) is not None:
            return f"{self._replaced(place['place'])}{place['line']}" if place["place"] else word
        if "/" in word:
            return self._known.get(word) or made.path(word)
        known: Prefix = "user" if "@" in word else "name"
        return self._known.get(word) or made.name(known, word)


def _core(word: str) -> str:
    """A word without punctuation at its ends."""
    return word.strip(_EDGE)


def _ends(text: str, place: int) -> bool:
    """True if a name that ends there is not continued by more characters of the word."""
    rest = text[place : place + 2]
    if rest[:1] == ".":  # end of a sentence, or part of a longer name
        return not rest[1:].isalnum()
    return not (rest[:1].isalnum() or rest[:1] in ("_", "-", "@"))
