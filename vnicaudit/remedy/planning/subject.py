"""A subject of a plan, and how it is planned: one thing that is judged as it is, and as it would be
with changes.

What only comes up once a change is made belongs to the same step: a change is made, the thing
judged again, until nothing more is proposed. What a subject is (a NIC of a definition, a server, an
image…) is its own module's to know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple

from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import SEVERITIES, Change, Finding
from vnicaudit.model.plan import Loss, NotPlanned, UnitStep, UnitT
from vnicaudit.model.reasons import Blocked, Reason
from vnicaudit.model.refs import CloudRef, NicRef
from vnicaudit.remedy.planning.judged_item import NotPlannedError

POLICY = "policy"
"""Stands among a step's rules for the settings' policy of queues and rings."""
_UNSAFE = "unsafe: {}"
_ROUNDS = 5


class ProposedChanges(NamedTuple):
    """Changes of a subject, and why. ``rules`` ask for it; ``blocked`` says why it cannot
    be applied; ``losses`` are functions that go; ``procedure`` is what the owner does instead."""

    changes: tuple[Change, ...] = ()
    rules: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    procedure: tuple[str, ...] = ()
    any_procedure: tuple[str, ...] = ()
    """The procedure with ``UUID`` and ``MAC`` for what it names."""

    def and_(
        self, more: Iterable[Change], *rules: str, notes: Iterable[str] = ()
    ) -> ProposedChanges:
        """These changes with ``more`` added; ``rules`` ask for the latter, where there are any."""
        more = tuple(more)
        all_rules = dict.fromkeys((*self.rules, *rules)) if more else self.rules
        return self._replace(
            changes=self.changes + more, rules=tuple(all_rules), notes=(*self.notes, *notes)
        )


class PlanSubject(ABC, Generic[UnitT]):
    """One thing that is planned, by steps on units of one type. What cannot be told of it is a
    RefusedError, whatever is asked. Where a kind of things says nothing else, changes are those
    that findings propose."""

    target: str
    about: NicRef | CloudRef
    project = ""
    """The id of the project it belongs to, of a cloud alone."""
    file: str | None = None
    """The file of its definition, where that is in one."""
    line: int | None = None
    """Line of the file on which the definition begins."""

    def requested_changes(self) -> ProposedChanges:
        """Changes that are asked for, whatever was found: another backend."""
        return ProposedChanges()

    def findings_with(self, changes: Sequence[Change]) -> Iterable[Finding]:
        """The findings once these changes are made, in the order in which to go by it.
        Empty: what findings propose is not made."""
        del changes
        return ()

    def planned_change(self, finding: Finding) -> Change | None:
        """The change that a finding proposes, as it is planned; None: it proposes none, or one that
        may do harm and is not asked for."""
        return finding.change

    def key(self, change: Change) -> str:
        """The key of what a change is about: of two with the same key, the first is made."""
        return change.field

    def completed(self, proposed: ProposedChanges) -> ProposedChanges:
        """The proposed changes with those that go along with them, and with the policy's of the
        settings."""
        return proposed

    @abstractmethod
    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """``(reason, rule)`` for each finding of which nothing is ``proposed``."""

    @abstractmethod
    def step(self, proposed: ProposedChanges) -> UnitStep[UnitT]:
        """The step that makes the proposed changes."""

    def not_planned(self, rules: tuple[str, ...], reason: Reason) -> NotPlanned:
        """A record that the findings of these rules are left as they are, for ``reason``."""
        return NotPlanned(
            self.about, self.target, rules, reason.text, self.project, code=reason.code,
            file=self.file, line=self.line,
        )  # fmt: skip

    @property
    def refused_rules(self) -> tuple[str, ...]:
        """The rules whose findings are left where the changes cannot be made."""
        return ()


def plan_subject(subject: PlanSubject[UnitT]) -> Iterator[UnitStep[UnitT] | NotPlanned]:
    """The planned items of a subject: all that is held back of it, each reason once, and its
    step."""
    proposed = ProposedChanges()
    refused: Reason | None = None
    try:
        proposed = _proposed(subject)
        step = subject.step(proposed) if proposed.changes or proposed.blocked else None
    except RefusedError as error:
        step, refused = None, reason_of(error)
    try:
        yield from _held_back(subject, proposed)
    except RefusedError as error:
        refused = refused or reason_of(error)
    if refused is not None:
        yield subject.not_planned(subject.refused_rules, refused)
    if step is not None:
        yield step


def _held_back(subject: PlanSubject[UnitT], proposed: ProposedChanges) -> Iterator[NotPlanned]:
    reasons: dict[Reason, dict[str, None]] = {}
    for reason, rule in subject.held_back(proposed):
        reasons.setdefault(reason, {})[rule] = None
    for reason, rules in reasons.items():
        yield subject.not_planned(tuple(filter(None, rules)), reason)


def _proposed(subject: PlanSubject[UnitT]) -> ProposedChanges:
    """All changes proposed for a subject."""
    proposed = subject.requested_changes()
    if proposed.blocked:
        return proposed
    changes, rules = list(proposed.changes), list(proposed.rules)
    for _ in range(_ROUNDS):
        done = set(map(subject.key, changes))
        more = [
            (change, finding.rule)
            for finding in subject.findings_with(changes)
            if (change := subject.planned_change(finding)) is not None
            and subject.key(change) not in done
        ]
        if not more:
            break
        for change, rule in more:
            if subject.key(change) not in done:
                changes.append(change)
                done.add(subject.key(change))
            rules.append(rule)
    rules = list(dict.fromkeys(rules))
    return subject.completed(proposed._replace(changes=tuple(changes), rules=tuple(rules)))


def unsafe(change: Change) -> Reason:
    """The reason for leaving out a change that may do harm and was not requested."""
    return Reason("unsafe", _UNSAFE.format(change.reason))


def reason_of(error: RefusedError) -> Reason:
    """The reason why nothing is planned, from the error."""
    if isinstance(error, NotPlannedError):
        return error.reason
    return Reason("cannot-be-changed", str(error))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """The most severe first; those of one severity as they were found."""
    return sorted(findings, key=lambda one: -SEVERITIES.index(one.severity))


def safety(changes: Iterable[Change], *risks: str) -> tuple[bool, str]:
    """``(safe, reason)`` of a step of these changes; ``risks``: what else may do harm (empty:
    nothing). All reasons are told, each once."""
    changes = tuple(changes)
    unsafe = [*(one.reason for one in changes if not one.safe), *filter(None, risks)]
    reasons = unsafe or [one.reason for one in changes]
    return not unsafe, "; ".join(dict.fromkeys(filter(None, reasons)))
