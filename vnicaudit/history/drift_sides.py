"""Intervals that hold at one of two audits alone, paired: what a thing was at the first of them,
and what it is at the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, FromClause, and_, func, or_, select

from vnicaudit.history.known import chunks
from vnicaudit.history.tables import host, inventory

AT_ONCE = 1024
"""Rows that are fetched together: fetched one by one each costs twice as much."""
CHANGES = frozenset({"changed", "suppressed", "unsuppressed"})
Key = tuple[int, object]
"""The host, and what tells things of it apart."""


class HostName(NamedTuple):
    """A host, and its site by the newest inventory."""

    name: str
    site: str


class AuditPair(NamedTuple):
    """The numbers of two audits, and what both looked at: hosts by their numbers, and rules."""

    before: int
    after: int
    hosts: Mapping[int, HostName]
    rules: frozenset[str]

    def held_before(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that hold at the first audit, and not at the second."""
        closed = table.c.closed.between(self.before + 1, self.after)
        return and_(closed, table.c.opened <= self.before)

    def held_after(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that hold at the second audit, and not at the first."""
        at_after = or_(table.c.closed.is_(None), table.c.closed > self.after)
        return and_(table.c.opened.between(self.before + 1, self.after), at_after)


class Pairing(NamedTuple):
    """Ids of rows. ``changed``: the row that ended -> the row of the same thing that began;
    ``only_before``, ``only_after``: of things that are at one of the audits alone."""

    changed: dict[int, int]
    only_before: list[int]
    only_after: list[int]


def pairing(
    before: Iterable[tuple[int, Hashable]], after: Iterable[tuple[int, Hashable]]
) -> Pairing:
    """Pair the rows (id and key) that ended with those that began. Where several have one key,
    they are paired in their order."""
    old, new = _by_key(before), _by_key(after)
    return Pairing(
        {number: new[key] for key, number in old.items() if key in new},
        [number for key, number in old.items() if key not in new],
        [number for key, number in new.items() if key not in old],
    )


def _by_key(rows: Iterable[tuple[int, Hashable]]) -> dict[Hashable, int]:
    """Ids by key; a key that several rows have is numbered from the second of them on."""
    found: dict[Hashable, int] = {}
    repeated: defaultdict[Hashable, int] = defaultdict(int)
    for number, key in sorted(rows, key=itemgetter(0)):
        if key in found:
            repeated[key] += 1
            key = (key, repeated[key])
        found[key] = number
    return found


def host_names(connection: Connection, hosts: Collection[int]) -> dict[int, HostName]:
    """The names of these hosts."""
    here = and_(inventory.c.host == host.c.id, inventory.c.closed.is_(None))
    query = select(host.c.id, host.c.name, func.coalesce(inventory.c.site, ""))
    rows = connection.execute(query.outerjoin(inventory, here))
    return {number: HostName(name, site) for number, name, site in rows if number in hosts}


class Course(NamedTuple):
    """How something that holds at the second audit began, and how something that held at the first
    one ended: changes in between are neither."""

    began_as: str = ""
    ended_as: str = ""


def courses(
    connection: Connection,
    pair: AuditPair,
    column: Column[bytes] | Column[str],
    keys: Collection[Key],
) -> dict[Key, Course]:
    """How these began and ended; the second part of a key is a value of that column."""
    c = column.table.c
    query = select(c.host, column, c.opened, c.opened_as, c.closed, c.closed_as).order_by(c.id)
    found: dict[Key, Course] = {}
    for some in chunks(list({value for _host, value in keys})):
        for number, value, opened, began, closed, ended in connection.execute(
            query.where(column.in_(some))
        ):
            had = found.get((number, value), Course())
            if opened <= pair.after and began not in CHANGES:
                had = had._replace(began_as=began)
            is_end = closed is not None and closed > pair.before and ended not in CHANGES
            if is_end and not had.ended_as:
                had = had._replace(ended_as=ended)
            found[(number, value)] = had
    return found
