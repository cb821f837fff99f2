"""A subject of a plan, and the planning of it: an item that is judged as it is, and as it would be
with changes.

Problems that appear only once a change is made belong to the same step: a change is made and the
item judged again, until nothing more is proposed. Each kind of subject (a NIC of a definition, a
server, an image…) has its own module.
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
"""Listed among a step's rules for the settings' policy of queues and rings."""
_UNSAFE = "unsafe: {}"
_ROUNDS = 5


class ProposedChanges(NamedTuple):
    """Changes of a subject, and their reasons. ``rules``: the rules that ask for them; ``blocked``:
    why they cannot be applied; ``losses``: functions that are lost; ``procedure``: what the owner
    does instead."""

    changes: tuple[Change, ...] = ()
    rules: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    procedure: tuple[str, ...] = ()
    any_procedure: tuple[str, ...] = ()
    """The procedure with ``UUID`` and ``MAC`` as placeholders."""

    def and_(
        self, more: Iterable[Change], *rules: str, notes: Iterable[str] = ()
    ) -> ProposedChanges:
        """These changes with ``more`` added; ``rules`` are the rules that ask for ``more``, if
        there is any."""
        more = tuple(more)
        all_rules = dict.fromkeys((*self.rules, *rules)) if more else self.rules
        return self._replace(
            changes=self.changes + more, rules=tuple(all_rules), notes=(*self.notes, *notes)
        )


class PlanSubject(ABC, Generic[UnitT]):
    """One thing that is planned, by steps on units of one type. Any method may raise RefusedError
    for facts that cannot be determined. By default, the changes are those that findings propose."""

    target: str
    about: NicRef | CloudRef
    project = ""
    """The id of the project that it belongs to; only in a cloud."""
    file: str | None = None
    """The file of its definition; None: it is not in a file."""
    line: int | None = None
    """Line of the file on which the definition begins."""

    def requested_changes(self) -> ProposedChanges:
        """Changes that were requested, whatever was found: another backend."""
        return ProposedChanges()

    def findings_with(self, changes: Sequence[Change]) -> Iterable[Finding]:
        """The findings once these changes are made, in the order in which to resolve them. Empty:
        no changes that findings propose are made."""
        del changes
        return ()

    def planned_change(self, finding: Finding) -> Change | None:
        """The change that a finding proposes, as it is planned; None: it proposes none, or one that
        may do harm and was not requested."""
        return finding.change

    def key(self, change: Change) -> str:
        """The key of a change: if two have the same key, only the first is made."""
        return change.field

    def completed(self, proposed: ProposedChanges) -> ProposedChanges:
        """The proposed changes with those that go along with them, and with those of the policy for
        queues and rings."""
        return proposed

    @abstractmethod
    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """``(reason, rule)`` for each finding whose change is not ``proposed``."""

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
        """The rules of the findings that are left because the changes cannot be made."""
        return ()


def plan_subject(subject: PlanSubject[UnitT]) -> Iterator[UnitStep[UnitT] | NotPlanned]:
    """The planned items of a subject: everything that is held back, each reason once, and its
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
    """The most severe first; findings of equal severity keep their order."""
    return sorted(findings, key=lambda one: -SEVERITIES.index(one.severity))


def safety(changes: Iterable[Change], *risks: str) -> tuple[bool, str]:
    """``(safe, reason)`` of a step with these changes; ``risks``: other possible harm (empty:
    none). Every reason is given once."""
    changes = tuple(changes)
    unsafe = [*(one.reason for one in changes if not one.safe), *filter(None, risks)]
    reasons = unsafe or [one.reason for one in changes]
    return not unsafe, "; ".join(dict.fromkeys(filter(None, reasons)))
