"""The answer, added up while subjects pass: how many NICs, how many of them slow, which problems,
and which changes would fix most of them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from vnicaudit.knowledge.fixes.libvirt import by_plan
from vnicaudit.model.finding import SEVERITIES, Confidence, Finding, Severity
from vnicaudit.model.owner import name_of
from vnicaudit.model.refs import mac_of
from vnicaudit.reports.page.data import PageSubject
from vnicaudit.reports.page.tables import MAC, NAME, UUID, SubjectMarks, change_words, path_of

_CHANGES = 5000
"""Maximum different changes; beyond that, a new change is not counted."""
_ANYONE = str.maketrans({NAME: "NAME", UUID: "UUID", MAC: "MAC"})


class ChangeKey(NamedTuple):
    """Key of findings that the same kind of change fixes, possibly of several rules. ``safe``:
    ``safe`` or ``unsafe``. If no change can be proposed, ``change`` and ``safe`` are empty, and
    findings are grouped by ``rule``."""

    rule: str
    owner: str
    change: str
    safe: str


class Cure(NamedTuple):
    """A change, its wording, and the number of findings it fixes."""

    key: ChangeKey
    rules: tuple[str, ...]
    severity: Severity
    fix: str
    number: int


class RuleCount(NamedTuple):
    """A rule, and its number of findings."""

    rule: str
    name: str
    severity: Severity
    number: int


class FindingKind(NamedTuple):
    """Findings that are counted together. ``name``: of the rule."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    key: ChangeKey | None


class AnswerCounts:
    """Counters whose size depends on rules and changes, not on the number of subjects."""

    def __init__(self) -> None:
        self.nics = self.guests = 0
        self.paths: Counter[str] = Counter()
        self._kinds: Counter[FindingKind] = Counter()
        self._fixes: dict[ChangeKey, str] = {}
        """The words of the first finding of each change."""

    @property
    def findings(self) -> int:
        """Number of all findings."""
        return self._kinds.total()

    @property
    def hints(self) -> int:
        """Number of findings of low confidence."""
        return sum(number for kind, number in self._kinds.items() if kind.confidence == "low")

    @property
    def severities(self) -> Counter[Severity]:
        """Number of findings by severity."""
        counts: Counter[Severity] = Counter()
        for kind, number in self._kinds.items():
            counts[kind.severity] += number
        return counts

    def add(self, subject: PageSubject) -> None:
        """Count a subject."""
        self.guests += subject.scope == "domain"
        self.nics += max(subject.nics, len(subject.rows))
        for row in subject.rows:
            self.paths[path_of(row)] += 1
        for one in subject.findings:
            change = self._change(one, subject)
            kind = FindingKind(one.rule, one.name, one.severity, one.confidence, change)
            self._kinds[kind] += 1

    def problems(self) -> list[RuleCount]:
        """Rules with findings, sorted by severity, then by number."""
        counts: Counter[tuple[str, str]] = Counter()
        worst: dict[str, Severity] = {}
        for kind, number in self._kinds.items():
            counts[kind.rule, kind.name] += number
            worst[kind.rule] = _worse(worst.get(kind.rule, kind.severity), kind.severity)
        rows = [RuleCount(*rule, worst[rule[0]], number) for rule, number in counts.items()]
        return sorted(
            rows, key=lambda row: (-SEVERITIES.index(row.severity), -row.number, row.rule)
        )

    def cures(self, most: int) -> list[Cure]:
        """The changes that fix most problems. Changes that fix only findings of low confidence, or
        nothing of at least medium severity, are included only if there are no others."""
        cures: dict[ChangeKey, Cure] = {}
        sure = set()
        for kind, number in self._kinds.items():
            key = kind.key
            if key is not None:
                one = cures.get(key) or Cure(key, (), kind.severity, self._fixes[key], 0)
                cures[key] = _with_kind(one, kind, number)
                if kind.confidence != "low":
                    sure.add(key)
        rows = list(cures.values())
        certain = [row for row in rows if row.key in sure]
        serious = [row for row in certain if SEVERITIES.index(row.severity) >= _SERIOUS]
        return sorted(serious or certain or rows, key=lambda row: (-row.number, row.key))[:most]

    def _change(self, finding: Finding, subject: PageSubject) -> ChangeKey | None:
        """The change that fixes a finding; None if there are too many changes to count."""
        change = finding.change
        safety = "" if change is None else "safe" if change.safe else "unsafe"
        words = change_words(change)
        key = ChangeKey("" if words else finding.rule, name_of(finding.owner), words, safety)
        if key not in self._fixes:
            if len(self._fixes) >= _CHANGES:
                return None
            marks = SubjectMarks(subject)
            fix = marks.sentence(by_plan(finding), mac_of(finding.about))
            self._fixes[key] = fix.translate(_ANYONE)
        return key


def _with_kind(one: Cure, kind: FindingKind, number: int) -> Cure:
    """A change that also fixes that number of findings of another kind."""
    rules = one.rules if kind.name in one.rules else (*one.rules, kind.name)
    worst = _worse(one.severity, kind.severity)
    return one._replace(rules=rules, severity=worst, number=one.number + number)


def _worse(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=SEVERITIES.index)


_SERIOUS = SEVERITIES.index("medium")
