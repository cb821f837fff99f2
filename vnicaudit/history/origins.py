"""Origin of something that appears on a host: from elsewhere, fixed here before, or new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, func, select, update

from vnicaudit.history.bulk import set_by_id
from vnicaudit.history.known import CHANGES, chunks, nics_with
from vnicaudit.history.matching import grouped
from vnicaudit.history.rows import NicKey, nic_key
from vnicaudit.history.tables import finding, nic


class Origin(NamedTuple):
    """How it appeared, when it was first seen, and how often it came back after a fix.
    ``first_seen`` None: now."""

    opened_as: str = "new"
    first_seen: int | None = None
    reopened: int = 0


class EarlierInterval(NamedTuple):
    """An earlier interval of the same thing, on any host."""

    host: int
    closed: int | None
    closed_as: str | None
    first_seen: int
    reopened: int = 0


NEW = Origin()


class Origins:
    """Finds the origins of what an audit sees; ``audit`` is its number. ``no_nics``,
    ``no_findings``: none were known before."""

    def __init__(self, connection: Connection, audit: int) -> None:
        self._connection = connection
        self._audit = audit
        self.no_nics = _is_empty(connection, nic)
        self.no_findings = _is_empty(connection, finding)

    def findings(self, keys: Sequence[bytes]) -> dict[bytes, list[EarlierInterval]]:
        """Intervals of findings that began in earlier audits, oldest first, by fingerprint."""
        f = finding.c
        columns = (f.fingerprint, f.host, f.closed, f.closed_as, f.first_seen, f.reopened)
        query = select(*columns).where(f.opened < self._audit).order_by(f.id)
        return grouped(
            (bytes(key), EarlierInterval(*values))
            for some in chunks(keys)
            for key, *values in self._connection.execute(query.where(f.fingerprint.in_(some)))
        )

    def nics(self, keys: Collection[NicKey]) -> dict[NicKey, list[EarlierInterval]]:
        """Intervals of NICs that began in earlier audits, oldest first."""
        if self.no_nics:
            return {}
        n = nic.c
        columns = (n.uuid, n.domain, n.mac, n.host, n.closed, n.closed_as, n.first_seen)
        query = select(*columns).where(n.opened < self._audit).order_by(n.id)
        return grouped(
            (nic_key(uuid, domain, mac), EarlierInterval(*values))
            for some in nics_with(keys)
            for uuid, domain, mac, *values in self._connection.execute(query.where(some))
        )

    def origin(self, host: int, intervals: Sequence[EarlierInterval]) -> Origin:
        """The origin of something not open on this host before, or of one more NIC with its key."""
        sources = [one for one in intervals if self._is_elsewhere(host, one)]
        if sources:
            first = min(one.first_seen for one in intervals)
            return Origin("moved", first, max(one.reopened for one in sources))
        ended = [one for one in intervals if one.closed and one.closed_as not in CHANGES]
        if not ended:
            return NEW
        first = min(one.first_seen for one in ended)
        last = max(ended, key=lambda one: (one.closed or 0, one.closed_as or "", one.reopened))
        if last.closed_as == "fixed":
            return Origin("reopened", first, last.reopened + 1)
        return Origin("returned", first, last.reopened)

    def _is_elsewhere(self, host: int, one: EarlierInterval) -> bool:
        """True if it exists on another host, or did until this audit."""
        if one.host == host:
            return False
        return one.closed is None or (one.closed == self._audit and one.closed_as != "fixed")

    def mark_moves(self) -> None:
        """Mark NICs and findings as moved if they left one host and appeared on another in this
        audit."""
        f = finding.c
        arrived = select(f.fingerprint).where(self._has_arrived(finding))
        moved = update(finding).where(self._is_gone(finding), f.fingerprint.in_(arrived))
        self._connection.execute(moved.values(closed_as="moved"))
        set_by_id(self._connection, nic, list(self._moved_nics()), "closed_as")

    def _moved_nics(self) -> Iterator[tuple[int, str]]:
        """Rows of NICs that left a host, for each guest and address as many as appeared
        elsewhere."""
        n = nic.c
        query = select(n.id, n.uuid, n.domain, n.mac).order_by(n.id)
        rows = self._connection.execute(query.where(self._has_arrived(nic)))
        arrived = Counter(nic_key(*key) for _id, *key in rows)
        if not arrived:
            return
        for number, *key in self._connection.execute(query.where(self._is_gone(nic))).all():
            if arrived[nic_key(*key)]:
                arrived[nic_key(*key)] -= 1
                yield number, "moved"

    def _has_arrived(self, table: Table) -> ColumnElement[bool]:
        c = table.c
        return and_(c.closed.is_(None), c.opened == self._audit, c.opened_as == "moved")

    def _is_gone(self, table: Table) -> ColumnElement[bool]:
        return and_(table.c.closed == self._audit, table.c.closed_as == "gone")


def _is_empty(connection: Connection, table: Table) -> bool:
    return connection.execute(select(func.max(table.c.id))).scalar() is None
