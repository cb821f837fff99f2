"""The interface of an open history: store audits in it, query it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta

from sqlalchemy import bindparam, delete, select

from vnicaudit.history.audits import details, status_of
from vnicaudit.history.database import Database, insert_rows
from vnicaudit.history.drift import drift_between
from vnicaudit.history.fleet_state import FleetState
from vnicaudit.history.last_readings import last_readings
from vnicaudit.history.measurements import add_measurements, measured_gains
from vnicaudit.history.place import HistoryPlace
from vnicaudit.history.retention import Pruned, copy_rows, json_lines, prune
from vnicaudit.history.rows import fingerprint_bytes, printable
from vnicaudit.history.store import store_audit
from vnicaudit.history.tables import notified
from vnicaudit.history.trends import SeverityOf, counts_of, trend_of
from vnicaudit.model.fleet import FleetAudit, FleetCounts, HostReading, KeptReading, Unpacked
from vnicaudit.model.history import (
    AuditDetails,
    Drift,
    HistoryStatus,
    StoredAudit,
    Trend,
    TrendRequest,
)
from vnicaudit.model.measurement import BenchResult
from vnicaudit.model.ranking import LastReadings, MeasuredGain

# Claims: channel, finding and day of each notification, shared by all users of the history.

_DAYS = 7
"""Days for which claims are stored."""


class Claims:
    """Claims of findings. Methods raise HistoryError if claims cannot be stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Claim those of the fingerprints that are not yet claimed for that channel and day
        (``2026-11-26``), and return them."""
        if not findings:
            return frozenset()
        marks, channel = {fingerprint_bytes(text): text for text in findings}, printable(channel)
        n = notified.c
        oldest = date.fromisoformat(day) - timedelta(days=_DAYS)
        known = select(n.fingerprint).where(n.channel == channel, n.day == day)
        with self._database.writing() as connection:
            connection.execute(delete(notified).where(n.day <= oldest.isoformat()))
            for claimed in connection.execute(known).scalars():
                marks.pop(bytes(claimed), None)
            insert_rows(connection, notified, [(channel, day, mark) for mark in sorted(marks)])
        return frozenset(marks.values())

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Withdraw claims: the message was certainly not received."""
        if not findings:
            return
        n = notified.c
        ours = (n.channel == printable(channel), n.day == day)
        statement = delete(notified).where(*ours, n.fingerprint == bindparam("mark"))
        with self._database.writing() as connection:
            connection.execute(statement, [{"mark": fingerprint_bytes(one)} for one in findings])


class History:
    """An open history. Its methods raise UsageError for something that does not exist, HistoryError
    for failures of the database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def store(self, audit: FleetAudit, readings: Iterable[HostReading]) -> StoredAudit:
        """Store an audit, completely or not at all. Each host counts once; an audit whose id is
        already stored is left unchanged. Only one process stores at a time; others wait."""
        return self.take(audit, map(Unpacked, readings))

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> StoredAudit:
        """Store an audit with packed readings; those without changes are not unpacked."""
        with self.database.writing() as connection:
            return store_audit(connection, audit, readings)

    def status(self, most: int | None = None) -> HistoryStatus:
        """The current state of the history. ``most``: number of newest audits to include; None:
        all."""
        return status_of(self.database, most)

    def details(self, audit: str) -> AuditDetails:
        """One audit, and its changes."""
        return details(self.database, audit)

    def trend(self, request: TrendRequest) -> Trend:
        """Counts over time."""
        return trend_of(self.database, request)

    def counts(self, severity_of: SeverityOf) -> FleetCounts:
        """The newest counts, for metrics."""
        return counts_of(self.database, severity_of)

    @contextmanager
    def fleet_state(self) -> Iterator[FleetState]:
        """The state of the whole fleet, in one transaction."""
        with self.database.reading() as connection:
            yield FleetState(connection)

    def drift(self, before: str, after: str) -> Drift:
        """The differences between two audits, in the part that both covered."""
        return drift_between(self.database, before, after)

    def prune(self, before: int) -> Pruned:
        """Remove what ended before that time (milliseconds since 1970)."""
        return prune(self.database, before)

    def copy_to(self, empty: History) -> int:
        """Copy everything into an empty history; returns the number of rows. Raises UsageError."""
        return copy_rows(self.database, empty.database)

    def export(self) -> Iterator[str]:
        """All rows as JSON lines."""
        return json_lines(self.database)

    def claims(self) -> Claims:
        """Claims of findings that channels were notified of."""
        return Claims(self.database)

    def gains(self) -> tuple[MeasuredGain, ...]:
        """Measured gains of NIC changes."""
        return tuple(measured_gains(self.database))

    def last_readings(self, hosts: Collection[str], fingerprints: Collection[str]) -> LastReadings:
        """The last readings of these hosts, and the marks of these findings that are open."""
        with self.database.reading() as connection:
            return last_readings(connection, hosts, fingerprints)

    def add_measurements(self, results: Iterable[BenchResult]) -> int:
        """Add measurements; the number of those that were not known."""
        return add_measurements(self.database, results)


@contextmanager
def opened(place: HistoryPlace, *, read_only: bool, patience: float) -> Iterator[History]:
    """The history at a place, whatever it holds."""
    database = Database(place, read_only=read_only, patience=patience)
    try:
        yield History(database)
    finally:
        database.close()
