"""Changes ranked by the cost of leaving them undone: ``vnicaudit.top/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Confidence, Severity

TOP_SCHEMA: Literal["vnicaudit.top/1"] = "vnicaudit.top/1"

PlaceKind = Literal["domain", "server", "host", "file", "image", "flavor", "preference", "many"]
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
