"""Where something that appears on a host was before: elsewhere, here and fixed, or nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select, update

from vnicaudit.history.known import chunks
from vnicaudit.history.tables import finding, nic

DomainNic = tuple[bytes | str, str | None]
"""UUID or name of a domain, and the MAC address of its NIC."""


class Origin(NamedTuple):
    """How it came, when it was first seen, how often it came back after a fix. ``first_seen``
    None: now."""

    opened_as: str = "new"
    first_seen: int | None = None
    reopened: int = 0


class EarlierInterval(NamedTuple):
    """An earlier one of the same thing, on whichever host."""

    host: int
    closed: int | None
    closed_as: str | None
    first_seen: int
    reopened: int = 0


NEW = Origin()


class Origins:
    """Tells the origins of what an audit sees; ``audit`` is its number. ``no_nics``,
    ``no_findings``: nothing was known before."""

    def __init__(self, connection: Connection, audit: int) -> None:
        self._connection = connection
        self._audit = audit
        self.no_nics = _is_empty(connection, nic)
        self.no_findings = _is_empty(connection, finding)

    def findings(self, keys: Sequence[bytes]) -> dict[bytes, list[EarlierInterval]]:
        """Earlier intervals of findings, oldest first, by fingerprint."""
        before: dict[bytes, list[EarlierInterval]] = {}
        f = finding.c
        columns = (f.fingerprint, f.host, f.closed, f.closed_as, f.first_seen, f.reopened)
        for some in chunks(keys):
            query = select(*columns).where(f.fingerprint.in_(some)).order_by(f.id)
            for key, *values in self._connection.execute(query):
                before.setdefault(bytes(key), []).append(EarlierInterval(*values))
        return before

    def nics(self, keys: Iterable[DomainNic]) -> dict[DomainNic, list[EarlierInterval]]:
        """Earlier intervals of NICs, oldest first; none of those without a MAC address."""
        before: dict[DomainNic, list[EarlierInterval]] = {}
        macs = sorted({mac for _domain, mac in keys if mac is not None})
        if self.no_nics:
            return before
        n = nic.c
        columns = (n.uuid, n.domain, n.mac, n.host, n.closed, n.closed_as, n.first_seen)
        for some in chunks(macs):
            query = select(*columns).where(n.mac.in_(some)).order_by(n.id)
            for uuid, domain, mac, *values in self._connection.execute(query):
                key = (domain if uuid is None else bytes(uuid), mac)
                before.setdefault(key, []).append(EarlierInterval(*values))
        return before

    def origin(self, host: int, intervals: Sequence[EarlierInterval]) -> Origin:
        """Of something that was not open on this host."""
        if not intervals:
            return NEW
        first = min(one.first_seen for one in intervals)
        last = intervals[-1]
        if any(self._is_elsewhere(host, one) for one in intervals):
            return Origin("moved", first, last.reopened)
        if last.closed_as == "fixed":
            return Origin("reopened", first, last.reopened + 1)
        return Origin("returned", first, last.reopened)

    def _is_elsewhere(self, host: int, one: EarlierInterval) -> bool:
        """True where it holds on another host, or did so until this audit."""
        if one.host == host:
            return False
        return one.closed is None or (one.closed == self._audit and one.closed_as == "gone")

    def mark_moves(self) -> None:
        """Mark NICs and findings that left one host and turned up on another in this audit as
        moved."""
        self._mark(finding, finding.c.fingerprint)
        self._mark(nic, nic.c.mac)

    def _mark(self, table: Table, key: ColumnElement[bytes] | ColumnElement[str]) -> None:
        arrived = select(key).where(
            table.c.closed.is_(None), table.c.opened == self._audit, table.c.opened_as == "moved"
        )
        gone = (table.c.closed == self._audit) & (table.c.closed_as == "gone")
        statement = update(table).where(gone, key.in_(arrived)).values(closed_as="moved")
        self._connection.execute(statement)


def _is_empty(connection: Connection, table: Table) -> bool:
    return connection.execute(select(func.max(table.c.id))).scalar() is None
