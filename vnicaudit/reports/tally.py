"""Totals for reports for people, added up while the audit runs."""

from __future__ import annotations

from collections import Counter

from vnicaudit.model.finding import Severity
from vnicaudit.model.refs import Ref, nic_index
from vnicaudit.model.report import Audited

_KINDS = 1000
"""Maximum different missing things; hostile input could name ever new ones."""
SCOPE_WORD = {
    "domain": "domain", "host": "host", "config": "file", "image": "image", "flavor": "flavor",
    "preference": "preference", "site": "compute node",
    "mac": "NIC",
}  # fmt: skip


class Tally:
    """Counters whose size depends on the rules, not on the number of subjects."""

    def __init__(self) -> None:
        self.judged: Counter[str] = Counter()
        """Scope (domain, host, config…) -> number of subjects judged."""
        self.affected: Counter[str] = Counter()
        """Scope -> number of subjects with a finding."""
        self.findings: Counter[tuple[Severity, str, str]] = Counter()
        """``(severity, rule, name)`` -> findings."""
        self.safe_fixes = 0
        """Findings with a proposed change that is safe."""
        self.skipped: Counter[tuple[str, str, str]] = Counter()
        """``(rule, needs, kind)`` -> number of NICs, domains, hosts… (kind)."""
        self.crashed: Counter[str] = Counter()
        """Rule -> crashes."""

    def add(self, audited: Audited) -> None:
        """Count one subject with its findings, skips and crashes."""
        self.judged[audited.scope] += 1
        self.affected[audited.scope] += bool(audited.findings) and not audited.again
        for finding in audited.findings:
            self.findings[finding.severity, finding.rule, finding.name] += 1
            self.safe_fixes += finding.change is not None and finding.change.safe
        for crashed in audited.crashed:
            self.crashed[crashed.rule] += 1
        for skipped in audited.skipped:
            key = (skipped.rule, skipped.needs, kind_of(skipped.about, audited.scope))
            if key not in self.skipped and len(self.skipped) >= _KINDS:
                key = (skipped.rule, "other facts (the JSON report has each)", key[2])
            self.skipped[key] += 1


def kind_of(ref: Ref, scope: str) -> str:
    """The word for the kind of subject: NIC, domain, host, file…"""
    return "NIC" if nic_index(ref) is not None else SCOPE_WORD[scope]
