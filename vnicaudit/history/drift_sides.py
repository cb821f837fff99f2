"""Two states of one history: what exists in only one of two audits, and where it is in the
other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, or_, select

from vnicaudit.history.matching import grouped, matched
from vnicaudit.history.tables import host, inventory

AT_ONCE = 1024
"""Rows fetched together; fetching them one by one takes twice as long."""


class HostName(NamedTuple):
    """A host, and its site in the newest inventory."""

    name: str
    site: str


class AuditPair(NamedTuple):
    """The numbers of two audits, and what both covered: numbers of hosts, and rules. ``names``: of
    all hosts."""

    before: int
    after: int
    hosts: frozenset[int]
    rules: frozenset[str]
    names: Mapping[int, HostName]

    def held_before(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the first audit, but not at the second."""
        closed = table.c.closed.between(self.before + 1, self.after)
        return and_(closed, table.c.opened <= self.before)

    def held_after(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the second audit, but not at the first."""
        return and_(table.c.opened > self.before, self.at_second(table))

    def at_second(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the second audit."""
        still = or_(table.c.closed.is_(None), table.c.closed > self.after)
        return and_(table.c.opened <= self.after, still)

    def order(self, host: int) -> tuple[bool, str]:
        """Sort key for hosts: compared ones first, then by name."""
        return host not in self.hosts, self.names[host].name


def host_names(connection: Connection) -> dict[int, HostName]:
    """The names of all hosts."""
    here = and_(inventory.c.host == host.c.id, inventory.c.closed.is_(None))
    query = select(host.c.id, host.c.name, func.coalesce(inventory.c.site, ""))
    rows = connection.execute(query.outerjoin(inventory, here))
    return {number: HostName(name, site) for number, name, site in rows}


class OneSided(NamedTuple):
    """An interval of something that is on its host in only one of the two audits. ``key``: its key
    on any host. ``state``: distinguishes it from others with the same key."""

    id: int
    host: int
    key: Hashable
    state: Hashable = None
    place: int = 0


Move = tuple["OneSided | None", "OneSided | None"]


def across_hosts(
    pair: AuditPair, ended: Sequence[OneSided], begun: Sequence[OneSided]
) -> Iterator[Move]:
    """Pair intervals that end on a host with intervals of the same key that begin on another host,
    if at least one of the two hosts is compared; None: without a partner."""
    both = {one.key for one in ended} & {one.key for one in begun}
    yield from ((one, None) for one in ended if one.key not in both and one.host in pair.hosts)
    yield from ((None, one) for one in begun if one.key not in both and one.host in pair.hosts)
    old, new = (grouped((one.key, one) for one in some if one.key in both)
                for some in (ended, begun))  # fmt: skip
    for key, some in old.items():
        for was, now in matched(_in_order(pair, some), _in_order(pair, new[key])):
            if any(one is not None and one.host in pair.hosts for one in (was, now)):
                yield was, now


def _in_order(pair: AuditPair, some: Sequence[OneSided]) -> list[tuple[Hashable, OneSided]]:
    """The intervals in order, each with its state."""
    in_order = sorted(some, key=lambda one: (pair.order(one.host), one.place, one.id))
    return [(one.state, one) for one in in_order]
