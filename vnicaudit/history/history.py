"""The face of the history: open it, store audits in it, ask it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vnicaudit.history.kept import KeptReading, Unpacked
from vnicaudit.history.place import HistoryPlace, check_extras
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.history import StoredAudit

if TYPE_CHECKING:
    from vnicaudit.history.database import Database


class History:
    """A history that is open. Raises UsageError where it cannot be used as it is, MissingExtraError
    where a library is missing, HistoryError where its database fails."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def store(self, audit: FleetAudit, readings: Iterable[HostReading]) -> StoredAudit:
        """Store an audit: all of it, or nothing. Each host counts once; the id of an audit that
        is stored already is left as it is. Others who store wait."""
        return self.take(audit, map(Unpacked, readings))

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> StoredAudit:
        """The same of readings that are packed: those with nothing new are not unpacked."""
        from vnicaudit.history.store import store_audit

        with self.database.writing() as connection:
            return store_audit(connection, audit, readings)


@contextmanager
def history_to_write(place: HistoryPlace) -> Iterator[History]:
    """A history to store in, with the newest schema; a file is made where there is none, and
    migrated after a copy where its schema is older."""
    check_extras(place.kind)
    from vnicaudit.history.database import Database
    from vnicaudit.history.migrating import ready

    database = Database(place)
    try:
        ready(database)
        yield History(database)
    finally:
        database.close()
