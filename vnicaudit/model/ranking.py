"""Changes ranked by the cost of leaving them undone: ``vnicaudit.top/1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.model.finding import Confidence, NamedKind, Severity
from vnicaudit.model.history import AuditSummary, FindingRecord

TOP_SCHEMA: Literal["vnicaudit.top/1"] = "vnicaudit.top/1"

PlaceKind = Literal["domain", "server", "host", "file", NamedKind, "many"]
"""``host``: settings of a host, or of Nova on it; ``file``: a template or a manifest; ``many``: the
same change in several places, combined."""
Safety = Literal["safe", "unsafe", "none"]
"""``none``: no change can be proposed."""


class MeasuredGain(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one measurement in the history: the gain from a change of a NIC."""

    before_nic: str
    """``rtl8139``; ``virtio, 4 queues``."""
    after_nic: str
    workload: str
    metric: str
    percent: float
    """After against before; positive is better."""
    low95: float | None = None
    high95: float | None = None


class GainEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """An expected gain, from measurements of the same change: their number, their median, and the
    range from the lowest to the highest. For a single one the range is its 95 % interval, null if
    it has none."""

    workload: str
    metric: str
    measurements: int
    percent: float
    low: float | None = None
    high: float | None = None


class ChangePlace(msgspec.Struct, frozen=True):
    """The one place where a change is made. ``id``: its UUID, if it has one; ``host``: name of the
    host in the inventory, if the place is on one."""

    kind: PlaceKind
    name: str = ""
    id: str = ""
    host: str = ""


class MeasuredTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic of the NICs affected by a change, from two readings of their counters. ``nics``:
    how many of them have counters; the other fields are null if no counter of the kind is known."""

    nics: int
    bytes_per_second: float | None = None
    share: float | None = None
    """Share of the bytes of all NICs of their hosts, from 0 to 1."""
    drops_per_second: float | None = None
    errors_per_second: float | None = None


class RankedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change, and the findings it would clear. ``rules``: the rules of these findings."""

    rank: int
    rules: tuple[str, ...]
    names: tuple[str, ...]
    owner: str
    field: str | None
    """In model terms; null if no change can be proposed."""
    value: str | None
    """The new value of the field; null: it is removed."""
    safety: Safety
    reachable: bool
    """True if it is known how the owner makes changes; ``fix`` says how."""
    place: ChangePlace
    places: int
    """Number of places where the change is to be made: 1, unless several were combined."""
    elsewhere: int
    """Number of further places where the same change is proposed."""
    severity: Severity
    confidence: Confidence
    """The highest confidence among the most severe findings."""
    hosts: int
    guests: int
    shut_off: int
    """Guests that are shut off, out of ``guests``."""
    nics: int
    findings: int
    traffic: MeasuredTraffic | None = None
    estimate: GainEstimate | None = None
    fix: str
    """The fix, worded as in its first finding."""
    reason: str
    """One line: the criteria that put it on this rank, as values."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.top/1``: the changes to make first, from one audit of a fleet."""

    schema: Literal["vnicaudit.top/1"] = TOP_SCHEMA
    audit: str
    started: str
    finished: str | None
    hosts: int
    """Hosts that were read, out of ``of_hosts``."""
    of_hosts: int
    findings: int
    candidates: int
    """Changes that were ranked; those after the last one shown are left out of ``changes``."""
    notes: tuple[str, ...] = ()
    changes: tuple[RankedChange, ...] = ()


# Findings that the last reading of each host left open in the history, and their place in a plan.


class LastReading(msgspec.Struct, frozen=True, kw_only=True):
    """The last reading of a host, at ``read_at`` (UTC, RFC 3339). ``findings``: how many are open
    there, not counting accepted ones. ``rules``: those that the audit checked on all of the host;
    empty if it read only a part of it, or a sample of its NICs."""

    host: str
    read_at: str
    domains: int
    nics: int
    findings: int
    rules: frozenset[str]


class OpenMark(NamedTuple):
    """One host on which a finding is open (empty: a host that was not requested), and when it was
    first seen there (UTC, RFC 3339)."""

    host: str
    first_seen: str
    is_accepted: bool


class LastReadings(NamedTuple):
    """``hosts``, by name: those that were ever read. ``marks``, by fingerprint: where the requested
    findings are open; several hosts if a guest is defined on several."""

    hosts: Mapping[str, LastReading]
    marks: Mapping[str, tuple[OpenMark, ...]]


class StepHistory(NamedTuple):
    """Facts about the findings of one step. ``known``: how many of them are open in the history,
    the oldest since ``first_seen`` (UTC, RFC 3339; empty: none is known); ``new``: how many were
    not in the last audit of the host. The others are unknown because that audit did not check their
    rules on all of the host."""

    findings: int
    known: int = 0
    new: int = 0
    first_seen: str = ""
    gain: GainEstimate | None = None


class UnreadHost(NamedTuple):
    """A host that could not be read for a plan, and its last reading; None: no audit read it."""

    name: str
    last: LastReading | None


class PlanHistory(msgspec.Struct, frozen=True):
    """The part of a plan that comes from the history. ``steps``: by the ids of steps; ``unread``:
    hosts that could not be read now."""

    steps: Mapping[str, StepHistory] = {}
    unread: tuple[UnreadHost, ...] = ()


NO_HISTORY = PlanHistory()
"""The history without any facts."""


# History of a fleet for the page of one audit: records that a history fills and a page shows.


class FindingHistory(msgspec.Struct, frozen=True):
    """The past of an open finding; ``first_seen``: UTC, RFC 3339. The state after an audit; empty:
    there is nothing to compare with. ``new``: never seen before; ``known``: unchanged, or only
    worded differently; ``reopened``: it had been fixed; ``returned``: its object had disappeared,
    and is back; ``moved``: it was known on another host; ``not looked at``: it is open as far as is
    known, and the audit did not check it."""

    state: str = ""
    first_seen: str = ""


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
    settled: tuple[FindingRecord, ...] = ()
    """Findings that were fixed or are gone."""
    ranking: Ranking | None = None
    rules_left_out: tuple[str, ...] = ()


NO_MEMORY = PageMemory()
