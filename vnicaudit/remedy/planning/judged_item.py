"""An item, judged as it is and as it would be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Finding
from vnicaudit.model.reasons import Blocked, Reason
from vnicaudit.model.refs import nic_index
from vnicaudit.model.report import Audited

Item = TypeVar("Item")

_POLICYS = {"queues": 1, "rx_queue_size": 256, "tx_queue_size": 256}
"""Fields that only the policy may increase, and their values if they are not set."""


class NotPlannedError(RefusedError):
    """Something is not planned."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Judges(NamedTuple):
    """``work`` judges by the requested rules and decides what is changed; ``by_all`` judges by all
    rules, to find what a change would break."""

    work: AuditWork
    by_all: AuditWork


class _Judgement(NamedTuple):
    """An item, and its findings by these rules."""

    work: AuditWork
    item: object
    findings: tuple[Finding, ...]


class JudgedItem(Generic[Item]):
    """One item, before anything is changed."""

    def __init__(
        self, item: Item, judges: Judges, audit: Callable[[AuditWork, Item], Audited]
    ) -> None:
        """``audit`` judges the item, as it is or as it would be. Raises RefusedError if a rule
        crashes."""
        self.item = item
        self._judges = judges
        self._audit = audit
        self._last_judged: _Judgement | None = None
        """Planning a step asks about the same changed domain several times in a row."""
        self.catalogue = judges.work.catalogue
        audited = audit(judges.work, item)
        self.findings = findings_in(audited)
        self.skipped = tuple(one.rule for one in audited.skipped)
        """Rules that were skipped for lack of a fact."""

    def findings_after(self, after: Item) -> tuple[Finding, ...]:
        """The findings on the changed item. Raises RefusedError if a rule crashes."""
        return self._findings_by(self._judges.work, after)

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
            for found in self._findings_by(self._judges.by_all, after)
            if found.severity == "error" and found.fingerprint not in self._errors
            and (nic is None or nic_index(found.about) in (nic, None))
        )  # fmt: skip

    @cached_property
    def _errors(self) -> frozenset[str]:
        """Fingerprints of the errors that exist already."""
        found = self._findings_by(self._judges.by_all, self.item)
        return frozenset(one.fingerprint for one in found if one.severity == "error")

    def _findings_by(self, work: AuditWork, item: Item) -> tuple[Finding, ...]:
        if item is self.item and work is self._judges.work:
            return self.findings
        last = self._last_judged
        if last is None or last.work is not work or last.item is not item:
            last = self._last_judged = _Judgement(work, item, findings_in(self._audit(work, item)))
        return last.findings


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
