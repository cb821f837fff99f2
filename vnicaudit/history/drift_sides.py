"""Two states of one history: what holds at one audit alone, and where it was or is at the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, or_, select

from vnicaudit.history.known import CHANGES
from vnicaudit.history.matching import grouped, matched
from vnicaudit.history.tables import host, inventory

AT_ONCE = 1024
"""Rows that are fetched together: fetched one by one each costs twice as much."""


class HostName(NamedTuple):
    """A host, and its site by the newest inventory."""

    name: str
    site: str


class AuditPair(NamedTuple):
    """The numbers of two audits, and what both looked at: hosts by their numbers, and rules.
    ``names``: of all hosts."""

    before: int
    after: int
    hosts: frozenset[int]
    rules: frozenset[str]
    names: Mapping[int, HostName]

    def held_before(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that hold at the first audit, and not at the second."""
        closed = table.c.closed.between(self.before + 1, self.after)
        return and_(closed, table.c.opened <= self.before)

    def held_after(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that hold at the second audit, and not at the first."""
        at_after = or_(table.c.closed.is_(None), table.c.closed > self.after)
        return and_(table.c.opened.between(self.before + 1, self.after), at_after)

    def order(self, host: int) -> tuple[bool, str]:
        """Sorts hosts: those that are compared first, by name."""
        return host not in self.hosts, self.names[host].name


def host_names(connection: Connection) -> dict[int, HostName]:
    """The names of all hosts."""
    here = and_(inventory.c.host == host.c.id, inventory.c.closed.is_(None))
    query = select(host.c.id, host.c.name, func.coalesce(inventory.c.site, ""))
    rows = connection.execute(query.outerjoin(inventory, here))
    return {number: HostName(name, site) for number, name, site in rows}


class OneSided(NamedTuple):
    """An interval of something that is on its host at one of the two audits alone. ``key``: what
    it is known by on whichever host; ``state``: what else tells it from its like."""

    id: int
    host: int
    key: Hashable
    state: Hashable = None
    place: int = 0


Move = tuple["OneSided | None", "OneSided | None"]


def across_hosts(
    pair: AuditPair, ended: Iterable[OneSided], begun: Iterable[OneSided]
) -> Iterator[Move]:
    """What left a host with what came to another one, as far as one of the two is compared; None
    beside what is at one of the audits alone."""
    old, new = (grouped((one.key, one) for one in some) for some in (ended, begun))
    for key in {**old, **new}:
        for was, now in _same_key(pair, old.get(key, ()), new.get(key, ())):
            if any(one is not None and one.host in pair.hosts for one in (was, now)):
                yield was, now


def _same_key(pair: AuditPair, old: Sequence[OneSided], new: Sequence[OneSided]) -> Iterable[Move]:
    if not new:
        return ((one, None) for one in old)
    if not old:
        return ((None, one) for one in new)
    return matched(*([(one.state, one) for one in _in_order(pair, some)] for some in (old, new)))


def _in_order(pair: AuditPair, some: Sequence[OneSided]) -> list[OneSided]:
    return sorted(some, key=lambda one: (pair.order(one.host), one.place, one.id))


class Interval(NamedTuple):
    """An interval of something, on whichever host."""

    id: int
    host: int
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None

    def holds_at(self, audit: int) -> bool:
        """True where it had begun by that audit, and not ended."""
        return self.opened <= audit and (self.closed is None or self.closed > audit)


def elsewhere(intervals: Sequence[Interval], host: int, pair: AuditPair) -> Interval | None:
    """The interval, on another host, of something that came to this one: as it was at the first
    audit. None: it was nowhere else."""
    there = [one for one in intervals if one.host != host and one.holds_at(pair.before)]
    return min(there, key=lambda one: (pair.order(one.host)[1], one.id), default=None)


def origin(intervals: Sequence[Interval], pair: AuditPair) -> str:
    """The state of something that is there at the second audit and was nowhere at the first, by
    all of its intervals, oldest first."""
    known = [one for one in intervals if one.opened <= pair.before]
    if not known:  # never before, or removed since from the history
        return intervals[0].opened_as
    ends = [(closed, how) for _host, closed, how in _ends(known, pair.before)]
    if not ends:
        return "new"
    return "reopened" if max(ends)[1] == "fixed" else "returned"


def ending(intervals: Sequence[Interval], host: int, pair: AuditPair) -> str:
    """The state of something that was on this host at the first audit and is nowhere at the second:
    how it ended there, or on the host where it had moved to."""
    still = {one.host for one in intervals if one.holds_at(pair.after)}
    last = {where: (closed, how) for where, closed, how in _ends(intervals, pair.after)}
    ends = [
        (closed, where == host, how)
        for where, (closed, how) in last.items()
        if closed > pair.before and how != "moved" and where not in still
    ]
    return max(ends)[2] if ends else "gone"


def _ends(intervals: Iterable[Interval], audit: int) -> list[tuple[int, int, str]]:
    """Host, audit and how, of all that ended on a host by that audit, oldest first."""
    ends = [
        (one.closed, one.host, one.closed_as)
        for one in intervals
        if one.closed is not None and one.closed <= audit
        and one.closed_as is not None and one.closed_as not in CHANGES
    ]  # fmt: skip
    return [(where, closed, how) for closed, where, how in sorted(ends)]
