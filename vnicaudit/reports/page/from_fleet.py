"""Converts readings of hosts into input of the page: for an audit of a fleet, and for a history."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.report import Tool
from vnicaudit.reports.page.data import PageAbout, PageHost, PageNote, PageSubject
from vnicaudit.reports.page.from_audit import host_notes, subject_of


def about_fleet(audit: FleetAudit) -> PageAbout:
    """The head of the page for an audit of a fleet, known before any host is read."""
    hosts = f"{len(audit.hosts):,} host{'' if len(audit.hosts) == 1 else 's'}"
    tool = Tool("vnicaudit", audit.version)
    return PageAbout(
        title=f"Fleet of {hosts}", tool=tool, started=audit.started, coverage=audit.coverage
    )


def subjects_of(reading: HostReading) -> Iterator[PageSubject]:
    """All results of one host, grouped by the host's name in the inventory."""
    host = reading.host
    for audited in reading.audited:
        yield msgspec.structs.replace(subject_of(audited), host=host.name, site=host.site)


def host_of(reading: HostReading, stale_since: str = "") -> PageHost:
    """Result of reading one host. ``stale_since``: when it was last read, if nothing of it was read
    this time and its last state is shown."""
    return PageHost(
        name=reading.host.name,
        status=reading.status,
        site=reading.host.site,
        error=reading.result.error or "",
        domains=reading.result.domains,
        nics=reading.result.nics,
        stale_since=stale_since,
    )


def notes_of(reading: HostReading) -> Iterator[PageNote]:
    """Notes on the parts of a host that were not read or not judged, then its other notes."""
    return host_notes(reading.result)
