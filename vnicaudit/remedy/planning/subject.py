"""A subject of a plan, and the planning of it: an item that is judged as it is, and as it would be
with changes.

Problems that appear only once a change is made belong to the same step: a change is made and the
item judged again, until nothing more is proposed. Each kind of subject (a NIC of a definition, a
server, an image…) has its own module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import SEVERITIES, Change, Finding, Ref
from vnicaudit.model.plan import Blocked, Loss, NotPlanned, Reason, UnitStep, UnitT
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.run import PlanRequest

# An item, judged as it is and as it would be.


Item = TypeVar("Item")

_POLICYS = {"queues": 1, "rx_queue_size": 256, "tx_queue_size": 256}
"""Fields that only the policy may increase, and their values if they are not set."""


class NotPlannedError(RefusedError):
    """Something is not planned."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class JudgedItem(Generic[Item]):
    """One item, before anything is changed."""

    def __init__(
        self, item: Item, request: PlanRequest, audit: Callable[[AuditWork, Item], Audited]
    ) -> None:
        """``audit`` judges the item, as it is or as it would be. Raises RefusedError if a rule
        crashes."""
        self.item = item
        self._request = request
        self._audit = audit
        self._last_judged: tuple[AuditWork, Item, tuple[Finding, ...]] | None = None
        """Planning a step asks about the same changed domain several times in a row."""
        self.catalogue = request.work.catalogue
        audited = audit(request.work, item)
        self.findings = findings_in(audited)
        self.skipped = tuple(one.rule for one in audited.skipped)
        """Rules that were skipped for lack of a fact."""

    def findings_after(self, after: Item) -> tuple[Finding, ...]:
        """The findings on the changed item. Raises RefusedError if a rule crashes."""
        return self._findings_by(self._request.work, after)

    def resolved_rules(self, after: Item) -> tuple[str, ...]:
        """The rules whose findings would be resolved."""
        still = {one.fingerprint for one in self.findings_after(after)}
        gone = (one.rule for one in self.findings if one.fingerprint not in still)
        return tuple(dict.fromkeys(gone))

    def new_errors(self, after: Item, nic: int | None = None) -> tuple[Blocked, ...]:
        """Errors that would be new; ``nic``: only errors of the NIC with this index, or of no
        single NIC."""
        return tuple(
            Blocked("brings-up-error", f"it would cause {found.rule}: {found.message}")
            for found in self._findings_by(self._request.all_rules_work, after)
            if found.severity == "error" and found.fingerprint not in self._errors
            and (nic is None or found.about.index in (nic, None))
        )  # fmt: skip

    @cached_property
    def _errors(self) -> frozenset[str]:
        """Fingerprints of the errors that exist already."""
        found = self._findings_by(self._request.all_rules_work, self.item)
        return frozenset(one.fingerprint for one in found if one.severity == "error")

    def _findings_by(self, work: AuditWork, item: Item) -> tuple[Finding, ...]:
        if item is self.item and work is self._request.work:
            return self.findings
        last = self._last_judged
        if last is None or last[0] is not work or last[1] is not item:
            last = self._last_judged = (work, item, findings_in(self._audit(work, item)))
        return last[2]


def findings_in(audited: Audited) -> tuple[Finding, ...]:
    """The findings of a judgement. Raises RefusedError if a rule crashed, as nothing is known
    then."""
    if audited.crashed:
        crashed = audited.crashed[0]
        text = f"rule {crashed.rule} crashes on it: {crashed.error}"
        raise NotPlannedError(Reason("rule-crashed", text))
    return audited.findings


def is_decided(finding: Finding) -> bool:
    """True if a finding proposes a change that findings decide, not the policy: only the policy
    adds queues or enlarges rings."""
    change = finding.change
    if change is None:
        return False
    least = _POLICYS.get(change.field)
    if least is None or change.new is None:
        return True
    return int(change.new) < int(change.old or least)


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
    for facts that cannot be determined."""

    file: str | None = None
    """The file of its definition; None: it is not in a file."""
    line: int | None = None
    """Line of the file on which the definition begins."""

    def __init__(self, request: PlanRequest, target: str, about: Ref, project: str = "") -> None:
        """``project``: the id of the project that it belongs to; only in a cloud."""
        self.request = request
        self.target = target
        self.about = about
        self.project = project

    @abstractmethod
    def proposed(self) -> ProposedChanges:
        """All changes to make."""

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
    def proposing_rules(self) -> tuple[str, ...]:
        """The rules that propose changes of it: a record that nothing is planned names them."""
        return ()


def plan_subject(subject: PlanSubject[UnitT]) -> Iterator[UnitStep[UnitT] | NotPlanned]:
    """The planned items of a subject: everything that is held back, each reason once, and its
    step."""
    proposed = ProposedChanges()
    refused: Reason | None = None
    try:
        proposed = subject.proposed()
        step = subject.step(proposed) if proposed.changes or proposed.blocked else None
    except RefusedError as error:
        step, refused = None, reason_of(error)
    try:
        yield from _held_back(subject, proposed)
    except RefusedError as error:
        refused = refused or reason_of(error)
    if refused is not None:
        yield subject.not_planned(subject.proposing_rules, refused)
    if step is not None:
        yield step


def _held_back(subject: PlanSubject[UnitT], proposed: ProposedChanges) -> Iterator[NotPlanned]:
    reasons: dict[Reason, dict[str, None]] = {}
    for reason, rule in subject.held_back(proposed):
        reasons.setdefault(reason, {})[rule] = None
    for reason, rules in reasons.items():
        yield subject.not_planned(tuple(filter(None, rules)), reason)


def with_follow_up_changes(
    start: ProposedChanges,
    findings_with: Callable[[Sequence[Change]], Iterable[Finding]],
    planned_change: Callable[[Finding], Change | None],
    key: Callable[[Change], str] = lambda change: change.field,
) -> ProposedChanges:
    """``start``, with the changes that findings propose once the earlier changes are made.
    ``findings_with`` returns the findings with these changes, in the order in which to resolve
    them; ``planned_change`` the change of a finding as it is planned, or None; of changes with the
    same ``key``, only the first is made."""
    changes, rules = list(start.changes), list(start.rules)
    for _ in range(_ROUNDS):
        done = set(map(key, changes))
        more = [
            (change, finding.rule)
            for finding in findings_with(changes)
            if (change := planned_change(finding)) is not None and key(change) not in done
        ]
        if not more:
            break
        for change, rule in more:
            if key(change) not in done:
                changes.append(change)
                done.add(key(change))
            rules.append(rule)
    return start._replace(changes=tuple(changes), rules=tuple(dict.fromkeys(rules)))


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
