"""Stores an audit in one transaction that excludes all other writers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, func, select

from vnicaudit.errors import HistoryError
from vnicaudit.history.audits import audit_name
from vnicaudit.history.changes import ChangeWriter, write_tally
from vnicaudit.history.database import insert_rows
from vnicaudit.history.hosts import (
    HostWork,
    basis_number,
    host_work,
    hosts_sharing,
    note_readings,
    write_inventory,
)
from vnicaudit.history.rows import milliseconds, printable, time_text
from vnicaudit.history.tables import audit as audits
from vnicaudit.history.tables import host, inventory, nic, reading
from vnicaudit.model.fleet import FleetAudit, KeptReading
from vnicaudit.model.history import AuditName, StoredAudit

_CLOCKS_DIFFER = 3_600_000
"""Milliseconds that two clocks may differ."""
_HOSTS_AT_ONCE = 64
"""Maximum hosts whose rows are written together."""
_ROWS_AT_ONCE = 4000
"""No more hosts are added once they have this many NICs and findings, because all of them are in
memory."""


def store_audit(
    connection: Connection, audit: FleetAudit, readings: Iterable[KeptReading]
) -> StoredAudit:
    """Store an audit and its readings, each host once, in a writing transaction. An audit with a
    known id is left unchanged."""
    known = connection.execute(select(audits.c.number).where(audits.c.id == audit.id)).scalar()
    if known is not None:
        return StoredAudit(id=audit.id, number=known, is_new=False)
    now = _now(connection)
    ended = audit.finished or audit.started
    if milliseconds(ended) > now + _CLOCKS_DIFFER:
        raise HistoryError(
            f"audit {audit.id} is not stored: it ended at {ended}, but the history's clock says "
            f"{time_text(now)}; set the clocks, and audit again"
        )
    return _AuditWriter(connection, audit, now + _CLOCKS_DIFFER).store(readings)


def _now(connection: Connection) -> int:
    """The present in milliseconds, by the clock of the database server or of this machine."""
    if connection.dialect.name != "postgresql":
        return round(time.time() * 1000)
    query = select(func.extract("epoch", func.clock_timestamp()))
    return round(float(connection.execute(query).scalar() or 0) * 1000)


class _AuditWriter:
    """``latest``: readings with a later time, which a wrong clock gave them, make none late."""

    def __init__(self, connection: Connection, audit: FleetAudit, latest: float) -> None:
        self._latest = latest
        self._connection = connection
        self._audit = audit
        self._number = 1 + (connection.execute(select(func.max(audits.c.number))).scalar() or 0)
        self._basis = basis_number(connection, audit.version, audit.coverage)
        listed = select(func.count()).where(inventory.c.closed.is_(None))
        self._hosts_before = connection.execute(listed).scalar() or 0
        self._hosts = write_inventory(connection, self._number, audit.hosts)
        compared = audit.compared
        self._changes = ChangeWriter(connection, self._number, audit.coverage, compared=compared)
        self._sharing = hosts_sharing(connection) if compared else frozenset()
        self._outcome: Counter[str] = Counter()
        self._late: list[tuple[int, int]] = []
        """Of each host read late: when it was read last, and by which audit."""

    def store(self, readings: Iterable[KeptReading]) -> StoredAudit:
        for some in _pieces(self._work(readings)):
            self._store(some)
        self._changes.finish()
        all_nics = self._audit.coverage.nic_share == 1.0
        note_readings(self._connection, self._number, all_nics=all_nics)
        flows = write_tally(self._connection, self._number, self._basis)
        one, coverage = self._audit, self._audit.coverage
        outcome = {name: self._outcome[name] for name in ("ok", "partial", "failed", "unchanged")}
        row = (
            self._number, one.id, milliseconds(one.started),
            None if one.finished is None else milliseconds(one.finished), self._basis,
            printable(coverage.limit), coverage.host_share, len(one.hosts), len(one.chosen_hosts),
            *outcome.values(), *_known_now(self._connection),
        )  # fmt: skip
        insert_rows(self._connection, audits, [row])
        return StoredAudit(
            id=one.id, number=self._number, is_new=True, **outcome,
            late=len(self._late), newest_reading=self._newest_reading(),
            dropped=_dropped(self._connection, self._number), hosts_before=self._hosts_before,
            **flows,
        )  # fmt: skip

    def _newest_reading(self) -> AuditName | None:
        """The audit that late readings are compared with: of the newest reading."""
        if not self._late:
            return None
        _read_at, number = max(self._late, key=lambda one: one[0])
        return audit_name(self._connection, number)

    def _work(self, readings: Iterable[KeptReading]) -> Iterator[HostWork]:
        """Each host's reading; the first one if there are two. Every host must be in the inventory
        of its audit."""
        done = set()
        for one in readings:
            if one.host in done:
                continue
            done.add(one.host)
            known = self._hosts[one.host]
            if known.read_at > self._latest:
                known = known._replace(read_at=0)
            shares = known.id in self._sharing
            yield host_work(known, one, self._basis, shares=shares)

    def _store(self, work: Sequence[HostWork]) -> None:
        rows = [(self._number, *one.row) for one in work]
        insert_rows(self._connection, reading, rows)
        for one in work:
            self._outcome[one.status] += 1
            self._outcome["unchanged"] += one.is_unchanged
            if one.is_late and one.status != "failed" and one.known.read is not None:
                self._late.append((one.known.read_at, one.known.read))
        self._changes.write(work)


def _pieces(work: Iterator[HostWork]) -> Iterator[list[HostWork]]:
    some: list[HostWork] = []
    rows = 0
    for one in work:
        some.append(one)
        # unpacked NICs and findings; none of a host without changes
        audited = () if one.reading is None else one.reading.audited
        rows += sum(len(each.rows) + len(each.findings) for each in audited)
        if len(some) >= _HOSTS_AT_ONCE or rows >= _ROWS_AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some


def _dropped(connection: Connection, number: int) -> int:
    """Number of hosts of the inventory before that the one of this audit does not have."""
    i = inventory.c
    query = select(func.count()).where(i.closed == number)
    listed = select(i.host).where(i.closed.is_(None))
    return connection.execute(query.where(i.host.not_in(listed))).scalar() or 0


def _known_now(connection: Connection) -> tuple[int, int]:
    """Known number of domains and NICs of the inventory's hosts."""
    here = select(inventory.c.host).where(inventory.c.closed.is_(None))
    last = (reading.c.audit == host.c.read) & (reading.c.host == host.c.id)
    domains = select(func.sum(reading.c.domains)).join(host, last).where(host.c.id.in_(here))
    nics = select(func.count()).where(nic.c.closed.is_(None), nic.c.host.in_(here))
    return (
        int(connection.execute(domains).scalar() or 0),
        int(connection.execute(nics).scalar() or 0),
    )
