"""The interface of the history: open it, store audits in it, query it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from vnicaudit.errors import UsageError
from vnicaudit.history.place import PATIENCE, HistoryPlace, check_extras
from vnicaudit.model.fleet import FleetAudit, HostReading, KeptReading, Unpacked
from vnicaudit.model.fleet_counts import FleetCounts
from vnicaudit.model.history import (
    AuditDetails,
    AuditName,
    Drift,
    HistoryStatus,
    StoredAudit,
    Trend,
    TrendRequest,
)
from vnicaudit.model.last_readings import LastReadings
from vnicaudit.model.measurement import BenchResult
from vnicaudit.model.ranking import MeasuredGain

if TYPE_CHECKING:
    from vnicaudit.history.claims import Claims
    from vnicaudit.history.counts import SeverityOf
    from vnicaudit.history.database import Database
    from vnicaudit.history.fleet_state import FleetState
    from vnicaudit.history.retention import Pruned

OPTIONAL_PATIENCE = 2.0
"""Seconds to wait for a lock or a connection if the history is only an addition to other work."""


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
        from vnicaudit.history.store import store_audit

        with self.database.writing() as connection:
            return store_audit(connection, audit, readings)

    def status(self, most: int | None = None) -> HistoryStatus:
        """The current state of the history. ``most``: number of newest audits to include; None:
        all."""
        from vnicaudit.history.audits import status_of

        return status_of(self.database, most)

    def details(self, audit: str) -> AuditDetails:
        """One audit, and its changes."""
        from vnicaudit.history.audits import details

        return details(self.database, audit)

    def trend(self, request: TrendRequest) -> Trend:
        """Counts over time."""
        from vnicaudit.history.trends import trend_of

        return trend_of(self.database, request)

    def counts(self, severity_of: SeverityOf) -> FleetCounts:
        """The newest counts, for metrics."""
        from vnicaudit.history.counts import counts_of

        return counts_of(self.database, severity_of)

    @contextmanager
    def fleet_state(self) -> Iterator[FleetState]:
        """The state of the whole fleet, in one transaction."""
        from vnicaudit.history.fleet_state import FleetState

        with self.database.reading() as connection:
            yield FleetState(connection)

    def drift(self, before: str, after: str) -> Drift:
        """The differences between two audits, in the part that both covered."""
        from vnicaudit.history.drifts import drift_between

        return drift_between(self.database, before, after)

    def prune(self, before: int) -> Pruned:
        """Remove what ended before that time (milliseconds since 1970)."""
        from vnicaudit.history.retention import prune

        return prune(self.database, before)

    def remove(self, audit: str) -> AuditName:
        """Remove one audit, with what it changed. Raises UsageError."""
        from vnicaudit.history.retention import remove

        return remove(self.database, audit)

    def export(self, since: str | None = None) -> Iterator[bytes]:
        """The whole history as JSON lines, or what changed after the audit ``since``."""
        from vnicaudit.history.transfer import export_lines

        return export_lines(self.database, since)

    def export_parquet(self, folder: Path) -> int:
        """Export the whole history as Parquet files into a new folder; returns the number of
        rows."""
        from vnicaudit.history.parquet import export_parquet

        return export_parquet(self.database, folder)

    def fill_from_parquet(self, folder: Path) -> int:
        """Fill an empty history from such a folder; returns the number of rows."""
        from vnicaudit.history.parquet import import_parquet

        return import_parquet(self.database, folder)

    def fill(self, stream: BinaryIO, name: str) -> int:
        """Fill an empty history from an export; returns the number of rows."""
        from vnicaudit.history.transfer import import_lines

        return import_lines(self.database, stream, name)

    def claims(self) -> Claims:
        """Claims of findings that channels were notified of."""
        from vnicaudit.history.claims import Claims

        return Claims(self.database)

    def gains(self) -> tuple[MeasuredGain, ...]:
        """Measured gains of NIC changes."""
        from vnicaudit.history.gains import measured_gains

        return tuple(measured_gains(self.database))

    def last_readings(self, hosts: Collection[str], fingerprints: Collection[str]) -> LastReadings:
        """The last readings of these hosts, and the marks of these findings that are open."""
        from vnicaudit.history.last_readings import last_readings

        with self.database.reading() as connection:
            return last_readings(connection, hosts, fingerprints)

    def add_measurements(self, results: Iterable[BenchResult]) -> int:
        """Add measurements; the number of those that were not known."""
        from vnicaudit.history.measurements import add_measurements

        return add_measurements(self.database, results)


@contextmanager
def history_to_write(place: HistoryPlace) -> Iterator[History]:
    """Open a history for storing, with the newest schema. A missing file is created; one with an
    older schema is copied and migrated. Raises UsageError, MissingExtraError, HistoryError."""
    check_extras(place.kind)
    from vnicaudit.history.migrating import ready

    with _database(place, read_only=False) as database:
        ready(database)
        yield History(database)


@contextmanager
def history_to_read(place: HistoryPlace) -> Iterator[History]:
    """Open a history for queries. Nothing is written, except that a file with an older schema is
    copied and migrated. Raises UsageError (also if there is none), MissingExtraError,
    HistoryError."""
    check_extras(place.kind)
    from vnicaudit.history.migrating import has_tables

    with _database(place, read_only=True) as database:
        if not (place.exists and has_tables(database)):
            raise _nothing_stored(place)
        yield History(database)


@contextmanager
def optional_history(place: HistoryPlace, patience: float = OPTIONAL_PATIENCE) -> Iterator[History]:
    """Open a history for queries by work that can go on without it: no file is migrated, and a lock
    or a connection is awaited only for ``patience`` seconds. Raises UsageError (also if there is
    none, or its schema is older), MissingExtraError, HistoryError."""
    if not place.exists:  # before any library is loaded
        raise _nothing_stored(place)
    check_extras(place.kind)
    from vnicaudit.history.migrating import has_newest_tables

    with _database(place, read_only=True, patience=patience) as database:
        if not has_newest_tables(database):
            raise _nothing_stored(place)
        yield History(database)


def _nothing_stored(place: HistoryPlace) -> UsageError:
    return UsageError(
        f"history {place.label}: nothing is stored there yet; `vnicaudit fleet audit` stores what "
        "it reads"
    )


def upgrade_history(place: HistoryPlace) -> tuple[str | None, str]:
    """Migrate a history to the newest schema; the one before (None: there was none) and that."""
    check_extras(place.kind)
    from vnicaudit.history.migrating import upgrade

    with _database(place, read_only=False) as database:
        return upgrade(database)


@contextmanager
def _database(
    place: HistoryPlace, *, read_only: bool, patience: float = PATIENCE
) -> Iterator[Database]:
    from vnicaudit.history.database import Database

    database = Database(place, read_only=read_only, patience=patience)
    try:
        yield database
    finally:
        database.close()
