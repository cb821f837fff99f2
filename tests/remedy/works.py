"""Judging as ``vnicaudit audit`` does by default."""

from datetime import date

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform


def work(platforms: PlatformRegistry | None = None) -> AuditWork:
    """All rules, no suppression, no baseline."""
    rules, platforms = rule_ids(), platforms or every_platform()
    return AuditWork(rules, Assumptions(), Suppressor((), date.today(), rules), {}, platforms)
