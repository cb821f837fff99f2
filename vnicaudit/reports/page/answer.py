"""The answer, added up while subjects go by: how many NICs, how many of them slow, which problems,
and which changes would clear most of them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from vnicaudit.model.finding import SEVERITIES, Finding, Severity
from vnicaudit.model.owner import name_of
from vnicaudit.reports.page.data import PageSubject
from vnicaudit.reports.page.paths import path_of
from vnicaudit.reports.page.tables import MAC, NAME, UUID, change_words, sentence

_CHANGES = 5000
"""Different changes that are told apart; what would be one more is not counted as a change."""
_ANYONE = str.maketrans({NAME: "NAME", UUID: "UUID", MAC: "MAC"})


class ChangeKey(NamedTuple):
    """Findings that one kind of change clears, be they of several rules. Where no change can be
    proposed ``change`` and ``safe`` are empty, and ``rule`` tells them apart; ``safe``: ``safe`` or
    ``unsafe``."""

    rule: str
    owner: str
    change: str
    safe: str


class Cure(NamedTuple):
    """A change, its wording, and how many findings it clears."""

    key: ChangeKey
    rules: tuple[str, ...]
    severity: Severity
    fix: str
    number: int


class RuleCount(NamedTuple):
    """A rule, and how many findings it has."""

    rule: str
    name: str
    severity: Severity
    number: int


class AnswerCounts:
    """Counters whose size depends on rules and changes, not on how much was audited."""

    def __init__(self) -> None:
        self.nics = self.guests = self.findings = self.hints = 0
        self.paths: Counter[str] = Counter()
        self.severities: Counter[Severity] = Counter()
        self._rules: Counter[tuple[str, str]] = Counter()
        self._worst: dict[str, Severity] = {}
        self._changes: Counter[ChangeKey] = Counter()
        self._sure: set[ChangeKey] = set()
        """Those for at least one finding that is more than a hint."""
        self._wording: dict[ChangeKey, tuple[list[str], Severity, str]] = {}

    def add(self, subject: PageSubject) -> None:
        """Count a subject."""
        self.guests += subject.scope == "domain"
        self.nics += max(subject.nics, len(subject.rows))
        for row in subject.rows:
            self.paths[path_of(row)] += 1
        for finding in subject.findings:
            self._finding(finding, subject)

    def problems(self) -> list[RuleCount]:
        """Rules with findings, the worst first, then those with most."""
        rows = [
            RuleCount(rule, name, self._worst[rule], number)
            for (rule, name), number in self._rules.items()
        ]
        return sorted(
            rows, key=lambda row: (-SEVERITIES.index(row.severity), -row.number, row.rule)
        )

    def cures(self, most: int) -> list[Cure]:
        """The changes that clear most problems. Those for hints alone, or for nothing of at least
        medium severity, only where there are no others."""
        rows = [self._cure(key, number) for key, number in self._changes.items()]
        sure = [row for row in rows if row.key in self._sure]
        serious = [row for row in sure if SEVERITIES.index(row.severity) >= _SERIOUS]
        return sorted(serious or sure or rows, key=lambda row: (-row.number, row.key))[:most]

    def _cure(self, key: ChangeKey, number: int) -> Cure:
        names, severity, fix = self._wording[key]
        return Cure(key, tuple(names), severity, fix, number)

    def _finding(self, finding: Finding, subject: PageSubject) -> None:
        self.findings += 1
        self.hints += finding.confidence == "low"
        self.severities[finding.severity] += 1
        self._rules[finding.rule, finding.name] += 1
        worst = self._worst.get(finding.rule, finding.severity)
        self._worst[finding.rule] = max(worst, finding.severity, key=SEVERITIES.index)
        self._change(finding, subject)

    def _change(self, finding: Finding, subject: PageSubject) -> None:
        change = finding.change
        safety = "" if change is None else "safe" if change.safe else "unsafe"
        words = change_words(change)
        key = ChangeKey("" if words else finding.rule, name_of(finding.owner), words, safety)
        if key in self._wording or len(self._wording) < _CHANGES:
            self._changes[key] += 1
            self._word(key, finding, subject)
            if finding.confidence != "low":
                self._sure.add(key)

    def _word(self, key: ChangeKey, finding: Finding, subject: PageSubject) -> None:
        """The change in the words of the first finding, with the names of its rules and the worst
        of their severities."""
        if key not in self._wording:
            fix = sentence(finding.fix, subject, finding).translate(_ANYONE)
            self._wording[key] = ([finding.name], finding.severity, fix)
            return
        names, severity, fix = self._wording[key]
        worst = max(severity, finding.severity, key=SEVERITIES.index)
        if finding.name not in names:
            names.append(finding.name)
        if worst != severity:
            self._wording[key] = (names, worst, fix)


_SERIOUS = SEVERITIES.index("medium")
