"""Judging as ``vnicaudit audit`` does by default."""

from __future__ import annotations

from datetime import date

from vnicaudit.audit.catalogue import rule_ids
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import Assumptions, AuditWork


def work() -> AuditWork:
    """All rules, no suppression, no baseline."""
    rules = rule_ids()
    return AuditWork(rules, Assumptions(), Suppressor((), date.today(), rules), {})
