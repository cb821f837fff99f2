"""The suppressions that are stored with each NIC, for findings on shared MAC addresses: comments of
its file, and entries in the metadata of its domain.

NICs are compared when everything has been read, and each is stored by itself. To bound the memory
for a file, a NIC has at most one suppression of each kind for each rule that compares NICs, with a
reason of bounded length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.accepting.file_comments import FileComments
from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.model.domain import Domain
from vnicaudit.model.location import AcceptingComment
from vnicaudit.model.macs import NicSeen

K = TypeVar("K")
_LONGEST = 500
"""Maximum number of characters of a reason or an owner that are stored with a NIC."""


class _NicsMeant(NamedTuple):
    """The NICs that a comment is for: those on the lines ``first`` to ``last`` with that MAC
    address (None: with any)."""

    first: int
    last: int
    mac: str | None


class MacComments:
    """The comments of a file for the NICs of its domains. ``rules``: those of this run that compare
    NICs by their MAC address."""

    def __init__(self, comments: FileComments, rules: Iterable[str]) -> None:
        self._file = comments.first
        self._by_rule = [_first_entries(comments.entries, rule, _nics_meant) for rule in rules]
        keys = {key[:2] for first in self._by_rule for key in first}
        self._documents = sorted(lines for lines in keys if lines[0] != lines[1])

    def added(self, nics: Iterable[NicSeen], domain: Domain) -> tuple[NicSeen, ...]:
        """The NICs of a domain of this file, each with the comments that may accept a finding on
        its MAC address."""
        nics_on = Counter(nic.location.line or 0 for nic in domain.nics)
        start = domain.location.line or 0
        documents = [lines for lines in self._documents if lines[0] <= start <= lines[1]]
        return tuple(
            replace(nic, comments=self._on(nic, documents, nics_on[nic.location.line or 0]))
            for nic in nics
        )

    def _on(
        self, nic: NicSeen, documents: list[tuple[int, int]], nics_on_line: int
    ) -> tuple[AcceptingComment, ...]:
        """The comments for one NIC. A comment that may be for another NIC of its line is returned
        as invalid, and only if no other comment accepts the finding."""
        line = nic.location.line or 0
        ranges = [(line, line), *documents]
        keys = [_NicsMeant(*lines, mac) for lines in ranges for mac in (None, nic.mac)]
        found: dict[int, AcceptingComment] = {}
        for first in self._by_rule:
            near = [(_doubt(key, nics_on_line), *first[key]) for key in keys if key in first]
            if near:
                doubt, number, entry = min(near, key=lambda one: (bool(one[0]), one[1]))
                found[number] = self._stored(entry, doubt)
        return tuple(found.values())

    def _stored(self, entry: Suppression, doubt: str) -> AcceptingComment:
        words = {"problem": doubt} if doubt else _words(entry)
        first, last = entry.lines or (0, 0)
        place = entry.location
        return AcceptingComment(
            place.file or "",
            place.line or 0,
            first,
            last,
            tuple(words.items()),
            self._file.reporter,
            self._file.settles,
        )


def with_metadata(
    nics: Iterable[NicSeen], entries: Iterable[Suppression], rules: Iterable[str]
) -> tuple[NicSeen, ...]:
    """The NICs of a domain, each with the first entry in the domain's metadata for each of these
    rules."""
    valid = tuple(entries)
    by_rule = [_first_entries(valid, rule, lambda one: one.mac) for rule in rules]
    return tuple(replace(nic, suppressions=_texts_for(nic.mac, by_rule)) for nic in nics)


def _first_entries(
    entries: Iterable[Suppression], rule: str, key: Callable[[Suppression], K]
) -> dict[K, tuple[int, Suppression]]:
    """The first entry with each key that covers the rule, with its number among all entries."""
    first: dict[K, tuple[int, Suppression]] = {}
    for number, entry in enumerate(entries):
        if entry.covers(rule):
            first.setdefault(key(entry), (number, entry))
    return first


def _nics_meant(entry: Suppression) -> _NicsMeant:
    return _NicsMeant(*(entry.lines or (0, 0)), entry.mac)


def _texts_for(
    mac: str, by_rule: Iterable[dict[str | None, tuple[int, Suppression]]]
) -> tuple[str, ...]:
    found: dict[int, Suppression] = {}
    for first in by_rule:
        near = [first[whom] for whom in (None, mac) if whom in first]
        found.update([min(near, key=lambda one: one[0])] if near else [])
    return tuple(msgspec.json.encode(_words(one)).decode() for one in found.values())


def _words(entry: Suppression) -> dict[str, str]:
    """The fields of an entry, with a reason and an owner of bounded length."""
    words = {
        "rule": entry.rule,
        "reason": _cut(entry.reason),
        "owner": _cut(entry.owner or ""),
        "until": "" if entry.until is None else entry.until.isoformat(),
        "mac": entry.mac or "",
    }
    return {name: text for name, text in words.items() if text}


def _doubt(key: _NicsMeant, nics_on_line: int) -> str:
    """A sentence if a comment does not tell which NIC of its line it is for; else empty."""
    if key.first != key.last or key.mac is not None or nics_on_line < 2:
        return ""
    return f"its line has {nics_on_line} NICs: give each a line of its own, or name one with mac="


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
