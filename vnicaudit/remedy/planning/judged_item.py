"""One thing judged as it is, and as it would be."""

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
"""Fields of which more is the policy's to give, and what they are where they are not set."""


class NotPlannedError(RefusedError):
    """Something is not planned."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Judges(NamedTuple):
    """``work`` says what is to be changed, ``by_all`` what would be wrong then: by all rules, be
    they asked for or not."""

    work: AuditWork
    by_all: AuditWork


class JudgedItem(Generic[Item]):
    """One thing, before anything is changed."""

    def __init__(
        self, item: Item, judges: Judges, audit: Callable[[AuditWork, Item], Audited]
    ) -> None:
        """``audit`` judges it, as it is or as it would be. Raises RefusedError where a rule
        crashes."""
        self.item = item
        self._judges = judges
        self._audit = audit
        self.catalogue = judges.work.catalogue
        audited = audit(judges.work, item)
        self.findings = findings_in(audited)
        self.skipped = tuple(one.rule for one in audited.skipped)
        """Rules that lacked a fact."""

    def findings_after(self, after: Item) -> tuple[Finding, ...]:
        """The findings were it so. Raises RefusedError where a rule crashes."""
        if after is self.item:
            return self.findings
        return findings_in(self._audit(self._judges.work, after))

    def resolved_rules(self, after: Item) -> tuple[str, ...]:
        """The rules whose findings would not be there any more."""
        still = {one.fingerprint for one in self.findings_after(after)}
        gone = (one.rule for one in self.findings if one.fingerprint not in still)
        return tuple(dict.fromkeys(gone))

    def new_errors(self, after: Item, nic: int | None = None) -> tuple[Blocked, ...]:
        """Errors that would come up; ``nic``: of this NIC (its index), or of no NIC alone."""
        return tuple(
            Blocked("brings-up-error", f"it would cause {found.rule}: {found.message}")
            for found in findings_in(self._audit(self._judges.by_all, after))
            if found.severity == "error" and found.fingerprint not in self._errors
            and (nic is None or nic_index(found.about) in (nic, None))
        )  # fmt: skip

    @cached_property
    def _errors(self) -> frozenset[str]:
        """Fingerprints of the errors that there are already."""
        same = self._judges.by_all is self._judges.work
        found = self.findings if same else findings_in(self._audit(self._judges.by_all, self.item))
        return frozenset(one.fingerprint for one in found if one.severity == "error")


def findings_in(audited: Audited) -> tuple[Finding, ...]:
    """The findings of a judgement. Raises RefusedError where a rule crashed: nothing is known
    then."""
    if audited.crashed:
        crashed = audited.crashed[0]
        text = f"rule {crashed.rule} crashes on it: {crashed.error}"
        raise NotPlannedError(Reason("rule-crashed", text))
    return audited.findings


def is_decided(finding: Finding) -> bool:
    """True if a finding proposes a change that findings decide: more queues or larger rings are
    the policy's to give."""
    change = finding.change
    if change is None:
        return False
    least = _POLICYS.get(change.field)
    if least is None or change.new is None:
        return True
    return int(change.new) < int(change.old or least)
