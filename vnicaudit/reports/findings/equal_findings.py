"""Equal findings: how many, how they are worded, and which subjects have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from vnicaudit.base.wording import shared_folder, told_apart
from vnicaudit.model.finding import Finding
from vnicaudit.reports.wording import nic_label

NAMES = 3
"""Of those that have a finding, as many are named at least; with ``--verbose`` more."""
MANY_NAMES = 20
_WORDINGS = 40
"""Messages and fixes of one rule in one group that are told apart."""


class FindingWords(NamedTuple):
    """How a finding is worded. ``label`` and ``fix`` belong together; ``edit`` is the fix without
    why it is unsafe, ``risk`` that reason; empty: there is none. ``owner`` has to make
    it."""

    message: str
    owner: str = ""
    label: str = ""
    fix: str = ""
    edit: str = ""
    risk: str = ""


class FixOfOwners(NamedTuple):
    """The most frequent fix of some owners, without why it is unsafe, and how many findings have
    it. ``owners`` is empty where all owners have that one."""

    owners: tuple[str, ...]
    edit: str
    number: int


class NamedSubjects:
    """Subjects of which the first are named, and the others counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.subjects = 0
        self._named: list[tuple[str, str, tuple[str, ...]]] = []
        self.place = ""
        """NIC and place of the first finding."""

    def add(self, name: str, place: str, *more: str) -> None:
        """Count one, and keep its name while there is room; ``place`` and ``more``: what tells it
        from others of that name, the plainest first."""
        self.subjects += 1
        if len(self._named) < self._most:
            self._named.append((name, place, more))

    @property
    def names(self) -> list[str]:
        """The names of the first; those that share one each with its place, files without the
        folder that all are in."""
        shared = shared_folder(place for _name, place, _more in self._named)
        return told_apart((name, place[shared:], *more) for name, place, more in self._named)


class EqualFindings(NamedSubjects):
    """Findings of one rule in one group: ``wordings`` are messages, labels of fixes and fixes, with
    how many have each, ``others`` how many have yet another; ``names`` are the first who have
    it."""

    def __init__(self, names: int) -> None:
        super().__init__(names)
        self.count = self.others = 0
        self.wordings: Counter[FindingWords] = Counter()

    def take(self, words: FindingWords, finding: Finding) -> None:
        """Count one finding with these words."""
        self.count += 1
        if self.count == 1:
            self.place = "  ".join(filter(None, (nic_label(finding.about), str(finding.location))))
        if words in self.wordings or self._has_room(words.owner):
            self.wordings[words] += 1
        else:
            self.others += 1

    @property
    def messages(self) -> list[tuple[str, int]]:
        """Each message and how many have it, the most frequent first."""
        return _counted((words.message, number) for words, number in self.wordings.items())

    def _has_room(self, owner: str) -> bool:
        """True while few wordings are known; there is room for the first of each owner for
        longer."""
        if len(self.wordings) < _WORDINGS:
            return True
        return owner not in self.owners and len(self.owners) < _WORDINGS

    @property
    def owners(self) -> list[str]:
        """Those who have to fix it, by name."""
        return sorted({words.owner for words in self.wordings})

    def leading(self, most: int) -> list[tuple[FindingWords, int]]:
        """The most frequent wordings, that of each owner before others, with how many have it."""
        ordered = self.wordings.most_common()
        first: dict[str, FindingWords] = {}
        for words, _number in ordered:
            first.setdefault(words.owner, words)
        return sorted(ordered, key=lambda one: first[one[0].owner] != one[0])[:most]

    @property
    def fixes(self) -> list[FixOfOwners]:
        """Of each owner the most frequent fix, equal ones together, the most frequent first."""
        by_owner: dict[str, Counter[str]] = {}
        for words, number in self.wordings.items():
            if words.edit:
                by_owner.setdefault(words.owner, Counter())[words.edit] += number
        numbers: Counter[str] = Counter()
        owners: dict[str, list[str]] = {}
        for owner, edits in sorted(by_owner.items()):
            edit, number = edits.most_common(1)[0]
            numbers[edit] += number
            owners.setdefault(edit, []).append(owner)
        return [
            FixOfOwners(() if owners[edit] == self.owners else tuple(owners[edit]), edit, number)
            for edit, number in numbers.most_common()
        ]

    @property
    def risks(self) -> list[tuple[str, int]]:
        """Why fixes are unsafe, and how many are, the most frequent reason first."""
        return _counted((words.risk, number) for words, number in self.wordings.items())


def _counted(words: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for word, number in words:
        if word:
            counts[word] += number
    return counts.most_common()


def names_of(same: NamedSubjects, *, most: int = NAMES) -> str:
    """``web-1, web-2, web-3 and 97 more``."""
    shown = ", ".join(same.names[:most])
    more = same.subjects - min(most, len(same.names))
    return f"{shown} and {more:,} more" if more > 0 else shown


def names_within(same: NamedSubjects, width: int) -> str:
    """As many names as fit that many columns, and NAMES at least."""
    most = len(same.names)
    while most > NAMES and len(names_of(same, most=most)) > width:
        most -= 1
    return names_of(same, most=most)
