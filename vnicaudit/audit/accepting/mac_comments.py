"""The comments of a file that are stored with each NIC, for findings on shared MAC addresses.

NICs are compared when everything has been read, and each is stored by itself. So that a file costs
no more than its NICs, a NIC has at most one comment for each rule that compares NICs, with a reason
of bounded length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from vnicaudit.audit.accepting.file_comments import FileComments
from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.domain import Domain

_LONGEST = 500
"""Characters of a reason and of an owner that are stored with a NIC."""


class _Key(NamedTuple):
    """What a comment is about: NICs on a line (None: of the whole document) with a MAC address
    (None: any)."""

    line: int | None
    mac: str | None


class MacComments:
    """The comments of a file for the NICs of one of its domains. ``rules``: those of this run that
    compare NICs by their MAC address."""

    def __init__(self, comments: FileComments, domain: Domain, rules: Iterable[str]) -> None:
        self._comments = comments
        self._nics_on = Counter(nic.location.line or 0 for nic in domain.nics)
        self._by_rule: list[dict[_Key, tuple[int, Suppression]]] = []
        near = [*comments.near_lines(self._nics_on, domain.location.line)]
        for rule in rules:
            first: dict[_Key, tuple[int, Suppression]] = {}
            for number, entry in near:
                if entry.covers(rule):
                    first.setdefault(_Key(_line_of(entry), entry.mac), (number, entry))
            self._by_rule.append(first)

    def on(self, line: int, mac: str) -> tuple[AcceptingComment, ...]:
        """The comments for the NIC with this MAC address on a line. A comment that may mean another
        NIC of its line is returned as invalid, and only where no other accepts the finding."""
        keys = [_Key(at, whom) for at in (line, None) for whom in (None, mac)]
        found: dict[int, AcceptingComment] = {}
        for first in self._by_rule:
            near = [(self._doubt(first[key][1]), *first[key]) for key in keys if key in first]
            if near:
                doubt, number, entry = min(near, key=lambda one: (bool(one[0]), one[1]))
                found[number] = self._stored(entry, doubt)
        return tuple(found.values())

    def _doubt(self, entry: Suppression) -> str:
        """A sentence where an entry does not tell which NIC of its line it means; else empty."""
        line = _line_of(entry)
        if line is None or entry.mac is not None or self._nics_on[line] < 2:
            return ""
        number = self._nics_on[line]
        return f"its line has {number} NICs: give each a line of its own, or add ; mac=…"

    def _stored(self, entry: Suppression, doubt: str) -> AcceptingComment:
        words = {
            "rule": entry.rule,
            "reason": _cut(entry.reason),
            "owner": _cut(entry.owner or ""),
            "until": "" if entry.until is None else entry.until.isoformat(),
            "mac": entry.mac or "",
        }
        if doubt:
            words = {"problem": doubt}
        first, last = entry.lines or (0, 0)
        place, of_file = entry.location, self._comments.first
        return AcceptingComment(
            place.file or "",
            place.line or 0,
            first,
            last,
            tuple((name, text) for name, text in words.items() if text),
            of_file.reporter,
            of_file.settles,
        )


def _line_of(entry: Suppression) -> int | None:
    first, last = entry.lines or (0, 0)
    return first if first == last else None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
