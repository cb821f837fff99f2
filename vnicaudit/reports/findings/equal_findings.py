"""Equal findings: how many, their wordings, and their subjects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import shared_folder, told_apart
from vnicaudit.model.finding import Finding, Severity
from vnicaudit.reports.wording import nic_label

NAMES = 3
"""Minimum subjects to name for a finding; more with ``--verbose``."""
MANY_NAMES = 20
_WORDINGS = 40
"""Maximum different messages and fixes per rule and group."""

RuleKey = tuple[Severity, str, str]
"""Severity, id and name of a rule."""


class FindingWords(NamedTuple):
    """The words of a finding. ``label`` and ``fix`` belong together. ``edit``: the fix without the
    reason why it is unsafe; ``risk``: that reason; empty: it is safe. ``owner``: who has to make
    the change."""

    message: str
    owner: str = ""
    label: str = ""
    fix: str = ""
    edit: str = ""
    risk: str = ""


class FixOfOwners(NamedTuple):
    """The most frequent fix of some owners, without the reason why it is unsafe, and the number of
    findings with it. ``owners`` is empty if all owners have the same fix."""

    owners: tuple[str, ...]
    edit: str
    number: int


class NamedSubjects:
    """Subjects: the first ones by name, the others only counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.subjects = 0
        self._named: list[tuple[str, str, tuple[str, ...]]] = []
        self.place = ""
        """NIC and location of the first finding."""

    def add(self, name: str, place: str, *more: str) -> None:
        """Count a subject, and keep its name while there is room. ``place`` and ``more``: details
        that distinguish it from others of that name, the simplest first."""
        self.subjects += 1
        if len(self._named) < self._most:
            self._named.append((name, place, more))

    @property
    def names(self) -> list[str]:
        """The names kept; those shared by several subjects have their place added, files without
        the folder that all of them share."""
        shared = shared_folder(place for _name, place, _more in self._named)
        return told_apart((name, place[shared:], *more) for name, place, more in self._named)


class EqualFindings(NamedSubjects):
    """Findings of one rule in one group. ``wordings``: counts of messages, labels of fixes and
    fixes; ``others``: number of findings with any further wording; ``names``: the first
    subjects; ``targets``: where they were found, in that order."""

    def __init__(self, names: int) -> None:
        super().__init__(names)
        self.count = self.others = 0
        self.wordings: Counter[FindingWords] = Counter()
        self.targets: dict[str, None] = {}

    def take(self, words: FindingWords, finding: Finding) -> None:
        """Count a finding with these words."""
        self.count += 1
        if self.count == 1:
            self.place = "  ".join(filter(None, (nic_label(finding.about), str(finding.location))))
        if words in self.wordings or self._has_room(words.owner):
            self.wordings[words] += 1
        else:
            self.others += 1

    @property
    def messages(self) -> list[tuple[str, int]]:
        """Each message with its count, the most frequent first."""
        return _counted((words.message, number) for words, number in self.wordings.items())

    def _has_room(self, owner: str) -> bool:
        """True if there is room for another wording; the first wording of each owner has extra
        room."""
        if len(self.wordings) < _WORDINGS:
            return True
        return owner not in self.owners and len(self.owners) < _WORDINGS

    @property
    def owners(self) -> list[str]:
        """Owners who have to fix it, by name."""
        return sorted({words.owner for words in self.wordings})

    def leading(self, most: int) -> list[tuple[FindingWords, int]]:
        """The most frequent wordings with their counts; the leading one of each owner comes
        first."""
        ordered = self.wordings.most_common()
        first: dict[str, FindingWords] = {}
        for words, _number in ordered:
            first.setdefault(words.owner, words)
        return sorted(ordered, key=lambda one: first[one[0].owner] != one[0])[:most]

    @property
    def fixes(self) -> list[FixOfOwners]:
        """The most frequent fix of each owner; equal ones are merged, the most frequent first."""
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
        """Reasons why fixes are unsafe, with counts, the most frequent first."""
        return _counted((words.risk, number) for words, number in self.wordings.items())


def _counted(words: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for word, number in words:
        if word:
            counts[word] += number
    return counts.most_common()


def names_of(same: NamedSubjects, *, most: int = NAMES) -> str:
    """``web-1, web-2, web-3 and 97 more``."""
    return and_more(same.names, most, same.subjects)


def and_more(names: Sequence[str], most: int, number: int) -> str:
    """The first names, and how many more of that number there are."""
    shown = ", ".join(names[:most])
    more = number - min(most, len(names))
    return f"{shown} and {more:,} more" if more > 0 else shown


def names_within(same: NamedSubjects, width: int) -> str:
    """As many names as fit into that many columns, but at least NAMES."""
    most = len(same.names)
    while most > NAMES and len(names_of(same, most=most)) > width:
        most -= 1
    return names_of(same, most=most)
