"""The history of a fleet: records of its audits, and of changes between them."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.fleet import HostStatus


class AuditName(msgspec.Struct, frozen=True):
    """An audit: its id, and when it started."""

    audit: str
    started: str


class StoredAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The result of storing an audit. ``is_new`` False: it had been stored before, and all counts
    are 0. Hosts: ``ok``, ``partial``, ``failed``, and ``unchanged`` of those that were read;
    ``late`` ones were read before the last reading that is known of them, which audit
    ``newest_reading`` stored, so their readings change nothing; ``dropped``: hosts of the last
    inventory that this one does not have, of ``hosts_before``. Findings: ``new``, ``reopened``,
    ``fixed``, ``gone``."""

    id: str
    number: int
    is_new: bool
    ok: int = 0
    partial: int = 0
    failed: int = 0
    unchanged: int = 0
    late: int = 0
    newest_reading: AuditName | None = None
    dropped: int = 0
    hosts_before: int = 0
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0


HISTORY_SCHEMA: Literal["vnicaudit.history/1"] = "vnicaudit.history/1"
HISTORY_AUDIT_SCHEMA: Literal["vnicaudit.history-audit/1"] = "vnicaudit.history-audit/1"
TREND_SCHEMA: Literal["vnicaudit.trend/1"] = "vnicaudit.trend/1"
DRIFT_SCHEMA: Literal["vnicaudit.drift/1"] = "vnicaudit.drift/1"


class AuditSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One audit. Hosts: those in the inventory, those that were to be read (``chosen``), and the
    results of reading them. Findings of the whole fleet at that time: ``open`` ones that the audit
    found, ``stale`` ones that it did not check, ``accepted`` ones; and how many changed to each
    state. Times: UTC, RFC 3339; ``finished`` None: it was interrupted."""

    id: str
    started: str
    finished: str | None
    version: str
    rules: int
    limit: str
    host_share: float
    nic_share: float
    hosts: int
    hosts_to_read: int = msgspec.field(name="chosen")
    ok: int
    partial: int
    failed: int
    unchanged: int
    domains: int
    nics: int
    open: int
    stale: int
    accepted: int
    new: int
    reopened: int
    fixed: int
    gone: int


class StaleHost(msgspec.Struct, frozen=True):
    """A host of the inventory whose last reading failed. ``read_at``: time of its last successful
    reading; None: it was never read."""

    host: str
    site: str
    read_at: str | None
    tried_at: str | None
    failure: str | None
    error: str | None


class HistoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """State of a history. ``bytes`` on disk; ``oldest``: the least recent of the last readings of
    the inventory's hosts; ``never_read``: hosts of it that no audit has read."""

    schema: Literal["vnicaudit.history/1"] = HISTORY_SCHEMA
    place: str
    tables: str
    """Number of the schema of its tables."""
    bytes: int
    hosts: int
    never_read: int
    oldest: str | None
    stale: tuple[StaleHost, ...]
    audits: tuple[AuditSummary, ...]
    """Newest first."""


class FindingRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A finding as it is stored, in the state that an audit, a comparison or the fleet gives it.
    ``first_seen``: for the first time ever; ``until``: the audit that ended it; None: it is open,
    or accepted (``reason`` says why); ``reopened``: how often it came back after a fix. Times: UTC,
    RFC 3339."""

    state: str
    host: str
    site: str
    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    owner: str
    message: str
    scope: str
    subject: str
    uuid: str | None
    mac: str | None
    nic_index: int | None
    file: str | None
    field: str | None
    old: str | None
    new: str | None
    safe: bool
    reason: str | None
    fingerprint: str
    first_seen: str
    until: str | None
    reopened: int = 0


class NicRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A NIC that differs between two audits. ``changes``: column -> value before and after; for one
    that moved, also ``host``."""

    state: str
    host: str
    site: str
    domain: str
    uuid: str | None
    mac: str | None
    model: str | None
    changes: dict[str, tuple[str | int | None, str | int | None]] = {}


class AuditDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One audit with what it changed."""

    schema: Literal["vnicaudit.history-audit/1"] = HISTORY_AUDIT_SCHEMA
    audit: AuditSummary
    not_read: tuple[StaleHost, ...]
    findings: tuple[FindingRecord, ...]


GroupBy = Literal["rule", "severity", "site", "owner", "all"]


class TrendRequest(msgspec.Struct, frozen=True):
    """Counts requested from a history. ``days``: for how many (None: all); the other fields select
    by these values, if any."""

    by: GroupBy = "rule"
    days: float | None = None
    rules: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


class TrendPoint(msgspec.Struct, frozen=True):
    """Counts of one group at one audit, as in :class:`AuditSummary`."""

    audit: str
    time: str
    group: str
    open: int
    stale: int
    accepted: int
    new: int
    reopened: int
    fixed: int
    gone: int


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over time, oldest first; a group has a point where one of its counts is not 0."""

    schema: Literal["vnicaudit.trend/1"] = TREND_SCHEMA
    by: str
    audits: tuple[AuditSummary, ...]
    points: tuple[TrendPoint, ...]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two audits, within the part that both covered. ``hosts``, ``rules``:
    how many both covered; ``notes`` say what was left out."""

    schema: Literal["vnicaudit.drift/1"] = DRIFT_SCHEMA
    before: AuditName
    after: AuditName
    hosts: int
    rules: int
    notes: tuple[str, ...]
    nics: tuple[NicRecord, ...]
    findings: tuple[FindingRecord, ...]


# The state of a fleet in its history: every host as last read, and the state of each finding after
# the newest audit.


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
