"""Knowledge of a fleet beside one audit of it: records that a history fills and a page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vnicaudit.model.history import AuditSummary
from vnicaudit.model.ranking import Ranking

FindingState = Literal["", "new", "known", "reopened", "returned", "moved", "not looked at"]
"""Of an open finding, against the audit before; empty: there is nothing to compare with."""
SettledState = Literal["fixed", "gone", "suppressed", "in the baseline"]
"""Of a finding that is no problem any more, or that somebody accepted."""


class FindingHistory(msgspec.Struct, frozen=True):
    """The past of an open finding. ``first_seen``: UTC, RFC 3339."""

    state: FindingState = ""
    first_seen: str = ""


class PageSettled(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that is not open: it was fixed, or what it was about is gone (``until``: since
    when, UTC, RFC 3339), or it is accepted (``reason``: why)."""

    state: SettledState
    severity: str
    rule: str
    name: str
    subject: str
    host: str
    site: str
    owner: str
    mac: str
    message: str
    reason: str = ""
    first_seen: str = ""
    until: str = ""


class PageChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Differences to the audit before. ``unseen``: findings that nobody looked at this time, which
    are open as far as is known."""

    since: str
    """When the audit before was, UTC, RFC 3339."""
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
    unseen: int = 0
    nics_added: int = 0
    nics_removed: int = 0


class PageMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge beside an audit's own stream, of a fleet that is remembered. ``hosts``: target
    -> name and site of a host in the inventory."""

    hosts: Mapping[str, tuple[str, str]] = {}
    findings: Mapping[str, FindingHistory] = {}
    """By fingerprint."""
    unknown: FindingHistory = FindingHistory()
    """Of a finding that is not among these."""
    changes: PageChanges | None = None
    trend: tuple[AuditSummary, ...] = ()
    settled: tuple[PageSettled, ...] = ()
    """Fixed and gone ones."""
    ranking: Ranking | None = None
    rules_left_out: tuple[str, ...] = ()


NO_MEMORY = PageMemory()
