"""The state of a fleet in its history: every host as last read, and the state of each finding after
the newest audit."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.fleet import HostStatus
from vnicaudit.model.history import AuditSummary, FindingState


class FleetHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host of the inventory. ``audit``: the audit that last read it, at ``read_at`` (UTC, RFC
    3339); None: it was never read. ``is_fresh``: that was the newest audit; ``is_tried``: the
    newest audit was to read it. ``status`` and ``error``: of the last attempt."""

    id: int
    name: str
    uri: str
    site: str
    audit: str | None
    read_at: str | None
    status: HostStatus
    error: str
    is_fresh: bool
    is_tried: bool


class KnownFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, and its state after the newest audit. ``first_seen``: for the first time ever;
    ``until``: the audit that ended it; None: it is open, or accepted (``reason`` says why). Times:
    UTC, RFC 3339."""

    state: FindingState
    first_seen: str
    until: str | None
    host: str
    site: str
    fingerprint: str
    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    owner: str
    message: str
    field: str | None
    old: str | None
    new: str | None
    safe: bool
    reason: str
    scope: str
    subject: str
    uuid: str | None
    mac: str | None
    nic_index: int | None
    file: str | None


class FindingMark(NamedTuple):
    """The state of an open finding after the newest audit, and when it was first seen (UTC, RFC
    3339)."""

    state: FindingState
    first_seen: str


class FleetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The newest audit; all audits (``audits``, oldest first, including the newest); the ids of the
    rules that the newest one checked; and how many NICs appeared or disappeared with it."""

    newest: AuditSummary
    audits: tuple[AuditSummary, ...]
    rules: tuple[str, ...]
    nics_added: int
    nics_removed: int


class NicMeasurement(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement of a guest's NIC that was imported. ``percent``: after against before; positive
    is better."""

    domain: str
    mac: str
    started: str
    workload: str
    metric: str
    before_nic: str | None
    after_nic: str | None
    percent: float
    low95: float | None
    high95: float | None
