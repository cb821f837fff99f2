"""Findings in groups: how many, their subjects (some by name), and the fix, once. Memory grows with
the number of groups, which is limited, and not with the findings.
"""

from __future__ import annotations

import heapq
import os
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import count, disambiguated, shared_folder
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.knowledge.fixes.wording import without_reason
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Finding, Severity, name_of
from vnicaudit.model.names import file_title
from vnicaudit.model.report import Audited
from vnicaudit.reports.totals import SCOPE_WORD
from vnicaudit.reports.wording import (
    WORST_FIRST,
    fix_label,
    message_of,
    name_and_id,
    part_label,
)
from vnicaudit.reports.writers import GROUP_BY, GroupBy, Options, SortBy

# Equal findings: how many, their wordings, and their subjects.


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


class EqualFindings:
    """Findings of one rule in one group, and their subjects: the first ones by name, the others
    only counted. ``wordings``: counts of messages, labels of fixes and fixes; ``others``: number of
    findings with any further wording; ``targets``: where they were found, in that order; ``place``:
    NIC and location of the first finding."""

    def __init__(self, names: int) -> None:
        self._most = names
        self._named: list[tuple[str, str, tuple[str, ...]]] = []
        self.place = ""
        self.count = self.others = self.subjects = 0
        self.wordings: Counter[FindingWords] = Counter()
        self.targets: dict[str, None] = {}
        self._whose: dict[str, dict[str, None]] = {}

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
        return disambiguated((name, place[shared:], *more) for name, place, more in self._named)

    def take(self, words: FindingWords, finding: Finding, name: str) -> None:
        """Count a finding with these words, of a subject of this name."""
        self.count += 1
        if self.count == 1:
            self.place = "  ".join(filter(None, (part_label(finding.about), str(finding.location))))
        if words in self.wordings or self._has_room(words.owner):
            self.wordings[words] += 1
            for text in filter(None, (words.edit, words.risk)):
                whose = self._whose.setdefault(text, {})
                if len(whose) <= NAMES:
                    whose[name] = None
        else:
            self.others += 1

    def label(self, label: str, text: str, number: int, owners: Sequence[str] = ()) -> str:
        """The label of a fix or a reason: ``fix``, ``fix (mail-01)`` if it is about few subjects,
        or ``fix for nova, ovirt (5 of 12)``."""
        if number == self.count:
            return label
        if len(whose := self._whose[text]) <= NAMES:
            return f"{label} ({', '.join(whose)})"
        whom = f" for {', '.join(owners)}" if owners else ""
        return f"{label}{whom} ({number:,} of {self.count:,})"

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


def names_of(same: EqualFindings, *, most: int = NAMES) -> str:
    """``web-1, web-2, web-3 and 97 more``."""
    return and_more(same.names, most, same.subjects)


def and_more(names: Sequence[str], most: int, number: int) -> str:
    """The first names, and how many more of that number there are."""
    shown = ", ".join(names[:most])
    more = number - min(most, len(names))
    return f"{shown} and {more:,} more" if more > 0 else shown


def names_within(same: EqualFindings, width: int) -> str:
    """As many names as fit into that many columns, but at least NAMES."""
    most = len(same.names)
    while most > NAMES and len(names_of(same, most=most)) > width:
        most -= 1
    return names_of(same, most=most)


_GUESTS = 200_000
"""Maximum marks of guests; beyond that, a guest is counted once a reading."""
GROUPS = 5_000
"""Maximum groups; beyond that, findings go to one common group."""
_OTHERS = "all others"
_NO_SERVER = "no server of a cloud"
_NOT_TOLD = "not told"


class _GroupKey(NamedTuple):
    """Key of a group. For the group of a domain, ``place``: where it is described; ``line``: the
    first line there with a finding, which distinguishes domains of the same name in one file (0:
    unknown)."""

    name: str
    place: str = ""
    line: int = 0


class FindingGroup(NamedTuple):
    """``about``: its contents in numbers. ``rules``: worst first. ``name`` is empty if all findings
    are in one group."""

    name: str
    about: str
    rules: list[tuple[RuleKey, EqualFindings]]


class Groups:
    """Findings grouped by rule, or by a property of their subjects."""

    def __init__(
        self, by: GroupBy, wordings: Wordings, *, names: int = NAMES, sort: SortBy = "severity"
    ) -> None:
        self._by: GroupBy = by
        self._wordings = wordings
        self._names = names
        self._sort: SortBy = sort
        self._found: dict[_GroupKey, dict[RuleKey, EqualFindings]] = {}
        self._scopes: dict[_GroupKey, Counter[str]] = {}
        self._of_domain: dict[tuple[str, str, str | None], list[_GroupKey]] = {}
        """Groups by name, place and UUID of a domain, the first line first."""
        self._counted: set[int] = set()
        """Marks of the guests that were counted, as each may be read several times."""

    def add(self, audited: Audited) -> None:
        """Add the findings of one subject."""
        met: set[tuple[_GroupKey, RuleKey]] = set()
        common = self._place(audited) if audited.findings else _GroupKey("")
        for finding in audited.findings:
            key = (finding.severity, finding.rule, finding.name)
            group = self._bounded(_GroupKey(" ".join(key)) if self._by == "rule" else common)
            same = self._found.setdefault(group, {}).setdefault(key, EqualFindings(self._names))
            same.take(self._wording(finding, audited), finding, audited.title)
            if (group, key) not in met:
                met.add((group, key))
                same.targets[audited.target] = None
                if not self._is_first(audited.guest, group, key):
                    continue
                place = finding.location.file or audited.target
                line = finding.location.line
                same.add(audited.title, place, audited.uuid or "", f"line {line}" if line else "")
        for group in {group for group, _key in met}:
            number = self._is_first(audited.guest, group)
            self._scopes.setdefault(group, Counter())[audited.scope] += number

    def _is_first(self, guest: int, *where: tuple[object, ...]) -> bool:
        """True for the first reading of a guest that is counted there."""
        mark = hash((guest, where))
        if guest and mark in self._counted:
            return False
        if guest and len(self._counted) < _GUESTS:
            self._counted.add(mark)
        return True

    def groups(self) -> Iterator[FindingGroup]:
        """Worst group first, or in the requested order; within a group the worst rule first."""
        alike = Counter(key[:2] for key in self._found)
        ordered = {key: sorted(rules.items(), key=_badness) for key, rules in self._found.items()}
        for key in sorted(ordered, key=lambda key: self._rank(key, ordered[key][0][0])):
            name = self._title(key, alone=alike[key[:2]] == 1)
            yield FindingGroup(name, self._about(key), ordered[key])

    def _rank(self, key: _GroupKey, worst_rule: RuleKey) -> tuple[object, ...]:
        number = -self._scopes[key].total()
        severity, rule, _name = worst_rule
        worst = WORST_FIRST.index(severity)
        first: object = rule if self._by == "rule" else key
        return {
            "severity": (worst, number, first),
            "number": (number, worst, first),
            "name": (first, worst),
        }[self._sort]

    def _bounded(self, group: _GroupKey) -> _GroupKey:
        room = group in self._found or len(self._found) < GROUPS
        return group if room else _GroupKey(_OTHERS)

    def _title(self, key: _GroupKey, *, alone: bool) -> str:
        """Title of a group. ``alone``: no other group has this name and place."""
        if self._by == "rule":
            return ""
        if self._by != "domain":
            return f"{self._by} {key.name}"
        line = "" if alone or not key.line else f", line {key.line}"
        return name_and_id(key.name, f"{key.place}{line}")

    def _about(self, key: _GroupKey) -> str:
        """``60 problems in 60 domains``."""
        problems = sum(same.count for same in self._found[key].values())
        if self._by == "domain":
            return count(problems, "problem")
        scopes = self._scopes[key]
        where = ", ".join(count(scopes[scope], word) for scope, word in SCOPE_WORD.items()
                          if scopes[scope])  # fmt: skip
        return f"{count(problems, 'problem')} in {where}"

    def _wording(self, finding: Finding, audited: Audited) -> FindingWords:
        """The words of a finding, without the name of a particular server."""
        message, fix, change = message_of(finding), finding.fix, finding.change
        owner = name_of(finding.owner)
        if not fix:
            return FindingWords(message, owner)
        named = audited.fix_names
        if named.server_id or named.image_id:
            anyone = replace(named, any_server=True, any_image=self._by != "image")
            fix = self._wordings.said_for(finding, anyone)
        risk = "" if change is None or change.safe else change.reason
        edit = without_reason(fix, risk) if risk else fix
        return FindingWords(message, owner, fix_label(finding), fix, edit, risk)

    def _place(self, audited: Audited) -> _GroupKey:
        """The group of everything found on one subject."""
        if self._by != "domain":
            return _GroupKey(self._shared(audited))
        file = audited.findings[0].location.file
        where = file_title(file or audited.target)
        if audited.scope not in ("domain", "mac"):
            return _GroupKey(audited.title, where)
        lines = [one.location.line for one in audited.findings if one.location.file == file]
        key = _GroupKey(audited.subject, where, min(filter(None, lines), default=0))
        return self._group_of_domain(audited, key)

    def _group_of_domain(self, audited: Audited, key: _GroupKey) -> _GroupKey:
        """The group of a domain. What comparing NICs finds comes later, and joins the group that
        the domain has: of several with its name and UUID in one file, the last one that begins
        above it."""
        domain = audited.subject, key.place, audited.uuid
        known = self._of_domain.get(domain, [])
        if known and audited.scope == "mac":
            return known[max(bisect_right(known, key) - 1, 0)]
        if key not in self._found and len(self._found) < GROUPS:
            insort(self._of_domain.setdefault(domain, []), key)
        return key

    def _shared(self, audited: Audited) -> str:
        """The value that a subject shares with others in its group."""
        by, placed = self._by, audited.placed
        if by == "owner":
            return name_of(audited.owner)
        if audited.scope == by:
            return name_and_id(audited.title, audited.uuid or "")
        if placed is None and by == "host":
            file = audited.findings[0].location.file
            return files_of_a_host(file) if file else audited.target
        if placed is None:
            return _NO_SERVER
        found = {
            "image": name_and_id(placed.image, placed.image_id),
            "flavor": placed.flavor,
            "project": name_and_id(placed.project, placed.project_id),
            "host": placed.host,
        }.get(by, "")
        return found or _NOT_TOLD


def files_of_a_host(file: str) -> str:
    """The group of a file that does not name its host: one group for each folder."""
    return f"{_NOT_TOLD}: files in {os.path.dirname(file) or '.'}"


def _badness(item: tuple[RuleKey, EqualFindings]) -> tuple[int, int, str]:
    (severity, rule, _name), same = item
    return WORST_FIRST.index(severity), -same.count, rule


def groups_of(options: Options) -> Groups:
    """The groups of a report: by ``--group-by``, or else by rule. Raises ValueError if it is
    unknown how a fix is worded for several subjects."""
    by: GroupBy = options.group_by if options.group_by in GROUP_BY else "rule"
    if options.wordings is None:
        raise ValueError("grouped findings need wordings")
    return Groups(by, options.wordings, names=MANY_NAMES, sort=options.sort)


# The worst findings of an audit, for reports that show only some.


class WorstFindings:
    """A limited number of findings from a stream, each with its subject: the most severe; among
    these, those of highest confidence; among these, the earliest. Other findings are not kept in
    memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._heap: list[tuple[int, int, int, Audited, Finding]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, audited: Audited) -> None:
        """Add the findings of a subject that are worse than those kept."""
        for finding in audited.findings:
            self._number += 1
            severity = SEVERITIES.index(finding.severity)
            confidence = CONFIDENCES.index(finding.confidence)
            entry = (severity, confidence, -self._number, audited, finding)
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def worst_first(self) -> list[tuple[Audited, Finding]]:
        """The findings kept, worst first."""
        return [entry[-2:] for entry in sorted(self._heap, reverse=True)]

    def by_subject(self) -> list[tuple[Audited, list[Finding]]]:
        """The findings grouped by subject; the subject with the worst one comes first."""
        found: dict[int, tuple[Audited, list[Finding]]] = {}
        for audited, finding in self.worst_first():
            found.setdefault(id(audited), (audited, []))[1].append(finding)
        return list(found.values())
