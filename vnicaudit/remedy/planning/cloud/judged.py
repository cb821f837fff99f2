"""A server judged as it is, and as it would be with other properties."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from vnicaudit.audit.catalogue import load, rule_ids
from vnicaudit.audit.facts import FACTS
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import EVERY_RULE, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.cloud.properties import with_properties

MODEL_FACT = "server.model"
"""The fact that rules need which judge a NIC's model."""
NO_MODEL = FACTS[MODEL_FACT].tell
"""What would tell it."""


class JudgedServer:
    """One server of a cloud, before anything is changed."""

    def __init__(self, server: Domain, target: str, work: AuditWork, by_all: AuditWork) -> None:
        """``work`` says what is to be changed, ``by_all`` what would be wrong then: by all rules,
        be they asked for or not. Raises RefusedError where a rule crashes."""
        self.server = server
        self.target = target
        self._work = work
        self._by_all = by_all
        audited = work.domain(server, HostConfig(), target)
        self.findings = found_in(audited)
        self.lacks_model = any(needs_model(skipped.rule) for skipped in audited.skipped)
        """What the model of a NIC is could not be told, so that nothing is known of it."""

    def with_(self, properties: Mapping[str, str]) -> tuple[Finding, ...]:
        """What would be found with these properties."""
        if not properties:
            return self.findings
        return self._findings(with_properties(self.server, properties), self._work)

    def gone(self, properties: Mapping[str, str]) -> tuple[str, ...]:
        """The rules whose findings are not there with these properties."""
        still = {one.fingerprint for one in self.with_(properties)}
        gone = (one.rule for one in self.findings if one.fingerprint not in still)
        return tuple(dict.fromkeys(gone))

    def worse(self, after: Domain) -> tuple[str, ...]:
        """Errors that a change would bring up."""
        return tuple(
            f"it would bring up {found.rule}: {found.message}"
            for found in self._findings(after, self._by_all)
            if found.severity == "error" and found.fingerprint not in self._errors
        )

    @cached_property
    def _errors(self) -> frozenset[str]:
        """Fingerprints of the errors that there are already."""
        same = self._by_all is self._work
        found = self.findings if same else self._findings(self.server, self._by_all)
        return frozenset(one.fingerprint for one in found if one.severity == "error")

    def _findings(self, server: Domain, work: AuditWork) -> tuple[Finding, ...]:
        return found_in(work.domain(server, HostConfig(), self.target))


def needs_model(rule: str) -> bool:
    """Whether a rule that was skipped on a server was so for want of a NIC's model: what else such
    a rule needs is known of every server."""
    return rule != EVERY_RULE and MODEL_FACT in load(rule).needs


def comes_unasked(rule: str) -> bool:
    """Whether what a rule finds comes about by itself, whatever is planned."""
    return rule in rule_ids() and load(rule).unasked


def found_in(audited: Audited) -> tuple[Finding, ...]:
    """What was found. Raises RefusedError where a rule crashed: nothing is known then."""
    if audited.crashed:
        crashed = audited.crashed[0]
        raise RefusedError(f"rule {crashed.rule} crashes on it: {crashed.error}")
    return audited.findings
