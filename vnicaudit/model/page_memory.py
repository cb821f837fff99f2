"""History of a fleet for the page of one audit: records that a history fills and a page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vnicaudit.model.history import AuditSummary
from vnicaudit.model.ranking import Ranking

FindingState = Literal["", "new", "known", "reopened", "returned", "moved", "not looked at"]
"""State of an open finding, compared with the previous audit; empty: there is nothing to compare
with."""
SettledState = Literal["fixed", "gone", "suppressed", "in the baseline"]
"""State of a finding that is no longer a problem, or that somebody accepted."""


class FindingHistory(msgspec.Struct, frozen=True):
    """The past of an open finding. ``first_seen``: UTC, RFC 3339."""

    state: FindingState = ""
    first_seen: str = ""


class PageSettled(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that is not open: it was fixed, or its object is gone (``until``: since when, UTC,
    RFC 3339), or it is accepted (``reason``: why)."""

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
    """Differences from the previous audit. ``unseen``: findings that were not checked this time,
    and are open as far as is known."""

    since: str
    """Time of the previous audit, UTC, RFC 3339."""
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
    unseen: int = 0
    nics_added: int = 0
    nics_removed: int = 0


class PageMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Facts from the history of a fleet, besides the audit's own stream. ``hosts``: target -> name
    and site of a host in the inventory."""

    hosts: Mapping[str, tuple[str, str]] = {}
    findings: Mapping[str, FindingHistory] = {}
    """By fingerprint."""
    unknown: FindingHistory = FindingHistory()
    """History of a finding that is not among these."""
    changes: PageChanges | None = None
    trend: tuple[AuditSummary, ...] = ()
    settled: tuple[PageSettled, ...] = ()
    """Findings that were fixed or are gone."""
    ranking: Ranking | None = None
    rules_left_out: tuple[str, ...] = ()


NO_MEMORY = PageMemory()
