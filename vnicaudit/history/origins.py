"""Origin of something that appears on a host: from elsewhere, fixed here before, or new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Table,
    and_,
    exists,
    select,
    update,
)

from vnicaudit.history.database import set_by_id
from vnicaudit.history.hosts import CHANGES, chunks, nics_with
from vnicaudit.history.rows import NicKey, nic_key
from vnicaudit.history.tables import (
    WAS_READ,
    finding,
    host,
    nic,
    reading,
)
from vnicaudit.history.transitions import grouped


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


class _NicInterval(NamedTuple):
    id: int
    host: int
    key: NicKey


NEW = Origin()


class Origins:
    """Finds the origins of what an audit sees; ``audit`` is its number. ``have_moved``: something
    came from another host."""

    def __init__(self, connection: Connection, audit: int) -> None:
        self._connection = connection
        self._audit = audit
        self.have_moved = False

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
        n = nic.c
        columns = (n.uuid, n.domain, n.mac, n.host, n.closed, n.closed_as, n.first_seen)
        query = select(*columns).where(n.opened < self._audit).order_by(n.id)
        return grouped(
            (nic_key(uuid, domain, mac), EarlierInterval(*values))
            for some in nics_with(keys)
            for uuid, domain, mac, *values in self._connection.execute(query.where(some))
        )

    def origin(
        self, host: int, intervals: Sequence[EarlierInterval], *, settled: bool = False
    ) -> Origin:
        """The origin of something not open on this host before, or of one more NIC with its key.
        ``settled``: it is known what left other hosts; before, what is on one may still leave."""
        sources = [one for one in intervals if self._is_elsewhere(host, one, settled=settled)]
        if sources:
            self.have_moved = True
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

    def _is_elsewhere(self, host: int, one: EarlierInterval, *, settled: bool) -> bool:
        """True if it exists on another host, or did until this audit."""
        if one.host == host:
            return False
        if settled:
            return one.closed == self._audit and one.closed_as == "moved"
        return one.closed is None or (one.closed == self._audit and one.closed_as != "fixed")

    def settle_moves(self) -> None:
        """Write what the arrival of NICs and findings on one host means for the others. Hosts that
        this audit did not read no longer have them: their intervals end as moved, and nothing
        counts twice. On hosts that it read, what is gone but exists elsewhere has moved. What is
        still on every host that had it is on one more: it has not moved."""
        f, other = finding.c, finding.alias()
        arrived = select(other.c.fingerprint).where(self._has_arrived(other))
        left = and_(self._is_unread(finding), f.fingerprint.in_(arrived))
        ended = {"closed": self._audit, "closed_as": "moved"}
        hosts = set(self._connection.execute(select(f.host).where(left)).scalars())
        self._connection.execute(update(finding).where(left).values(ended))
        nics = list(self._nics_left())
        set_by_id(self._connection, nic, [(one.id, self._audit, "moved") for one in nics], *ended)
        compare_again(self._connection, sorted(hosts | {one.host for one in nics}))
        elsewhere = exists().where(
            other.c.fingerprint == f.fingerprint, other.c.closed.is_(None), other.c.host != f.host
        )
        moved = update(finding).where(self._is_gone(finding), elsewhere)
        self._connection.execute(moved.values(closed_as="moved"))
        set_by_id(self._connection, nic, list(self._nics_moved()), "closed_as")
        self._settle_arrivals()

    def _settle_arrivals(self) -> None:
        """Give what arrived from nowhere the origin that it has without the other hosts."""
        c = reading.c
        query = select(c.host, c.read_at).where(c.audit == self._audit)
        read_at = {row.host: row.read_at for row in self._connection.execute(query)}
        f = finding.c
        found = select(f.id, f.host, f.fingerprint).where(self._has_arrived(finding))
        findings = [(*ids, bytes(key)) for *ids, key in self._connection.execute(found)]
        nics = [(one.id, one.host, one.key) for one in self._nics(self._has_arrived(nic))]
        marks = self.findings([key for _id, _host, key in findings])
        keys = self.nics({key for _id, _host, key in nics})
        new = [
            (row, origin.opened_as, origin.first_seen or read_at[at], origin.reopened)
            for row, at, key in findings
            if (origin := self.origin(at, marks[key], settled=True)).opened_as != "moved"
        ]
        set_by_id(self._connection, finding, new, "opened_as", "first_seen", "reopened")
        new_nics = [
            (row, origin.opened_as, origin.first_seen or read_at[at])
            for row, at, key in nics
            if (origin := self.origin(at, keys[key], settled=True)).opened_as != "moved"
        ]
        set_by_id(self._connection, nic, new_nics, "opened_as", "first_seen")

    def _nics_left(self) -> Iterator[_NicInterval]:
        """NICs that appeared on another host, on the hosts that this audit did not read."""
        arrived = {one.key for one in self._nics(self._has_arrived(nic))}
        for some in nics_with(arrived):
            for one in self._nics(and_(self._is_unread(nic), some)):
                if one.key in arrived:
                    yield one

    def _nics_moved(self) -> Iterator[tuple[int, str]]:
        """Rows of NICs that left a host and exist on another one: for each host at most as many
        with one key as there are elsewhere."""
        gone = list(self._nics(self._is_gone(nic)))
        found = (self._nics(and_(nic.c.closed.is_(None), some))
                 for some in nics_with({one.key for one in gone}))  # fmt: skip
        known = grouped((one.key, one) for some in found for one in some)
        moved: Counter[tuple[int, NicKey]] = Counter()
        for one in gone:
            there = sum(each.host != one.host for each in known.get(one.key, ()))
            if moved[one.host, one.key] < there:
                moved[one.host, one.key] += 1
                yield one.id, "moved"

    def _nics(self, condition: ColumnElement[bool]) -> Iterator[_NicInterval]:
        n = nic.c
        query = select(n.id, n.host, n.uuid, n.domain, n.mac).where(condition).order_by(n.id)
        for number, host_id, *key in self._connection.execute(query):
            yield _NicInterval(number, host_id, nic_key(*key))

    def _has_arrived(self, table: FromClause) -> ColumnElement[bool]:
        c = table.c
        return and_(c.closed.is_(None), c.opened == self._audit, c.opened_as == "moved")

    def _is_unread(self, table: Table) -> ColumnElement[bool]:
        read = select(reading.c.host).where(reading.c.audit == self._audit, WAS_READ)
        return and_(table.c.closed.is_(None), table.c.host.not_in(read))

    def _is_gone(self, table: Table) -> ColumnElement[bool]:
        return and_(table.c.closed == self._audit, table.c.closed_as == "gone")


def compare_again(connection: Connection, hosts: Sequence[int]) -> None:
    """Let the next reading of these hosts be compared in full: their intervals were changed by
    something else than a reading of them."""
    last = select(host.c.read).where(host.c.id == reading.c.host).scalar_subquery()
    for some in chunks(hosts):
        stored = update(reading).where(reading.c.host.in_(some), reading.c.audit == last)
        connection.execute(stored.values(digest=b""))
