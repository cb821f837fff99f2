"""Counts of a fleet after its newest audit, from which metrics are made.

Only sums by labels with few values: a series for each NIC or MAC address could mean a million
series.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.finding import Severity


class FindingCount(msgspec.Struct, frozen=True):
    """Findings of one rule, severity, site and owner: ``open`` ones that were checked, ``stale``
    ones that are open as far as is known but were not checked, ``suppressed`` ones."""

    rule: str
    severity: Severity
    site: str = ""
    owner: str = ""
    open: int = 0
    stale: int = 0
    suppressed: int = 0


class SiteCounts(msgspec.Struct, frozen=True):
    """Hosts of one site (empty: of none), by the newest audit that was to read them: ``fresh`` ones
    were read in full, ``partial`` ones in part. ``stale`` ones were not to be read by the newest
    audit; ``failed`` ones were, but could not be read. ``oldest_reading``: time of the least recent
    reading of a host (UTC, RFC 3339); None: none was ever read."""

    site: str = ""
    fresh: int = 0
    partial: int = 0
    stale: int = 0
    failed: int = 0
    domains: int = 0
    nics: int = 0
    oldest_reading: str | None = None

    @property
    def hosts(self) -> int:
        """All hosts of the site."""
        return self.fresh + self.partial + self.stale + self.failed


class FleetCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The newest counts. ``finished``: when the newest audit ended (UTC, RFC 3339); None: there was
    none yet. ``rules``: those it checked, with their own severity. ``host_share`` and
    ``nic_share``: as in :class:`vnicaudit.model.fleet.Coverage`. ``new``, ``reopened``, ``fixed``,
    ``gone``: changes by the newest audit."""

    finished: str | None = None
    rules: tuple[tuple[str, Severity], ...] = ()
    host_share: float = 1.0
    nic_share: float = 1.0
    findings: tuple[FindingCount, ...] = ()
    sites: tuple[SiteCounts, ...] = ()
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
