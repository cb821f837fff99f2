"""Intervals of NICs that exist in only one of two audits. The database compares their columns,
because of many differing intervals only few differ in content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.drift_sides import AT_ONCE, AuditPair
from vnicaudit.history.known import MANY, chunks
from vnicaudit.history.rows import NicFacts
from vnicaudit.history.tables import nic
from vnicaudit.history.transitions import COMPARED

_MOST_JOINED = 4
"""Maximum joined intervals of a MAC address per pair to compare; with more, intervals are fetched
by id."""
HostNicKey = tuple[int, "bytes | str", "str | None"]
"""Host, UUID or name of a domain, and MAC address."""


class NicInterval(NamedTuple):
    """An interval: number of its host, how it began, and its columns."""

    host: int
    opened_as: str
    facts: NicFacts


class NicSide(NamedTuple):
    """Ids of the intervals that exist in only one of the audits. ``several``: those of NICs with
    the same key as another NIC of their host, including NICs without an address."""

    single: dict[HostNicKey, int]
    several: dict[HostNicKey, list[int]]

    def of(self, key: HostNicKey) -> Sequence[int]:
        """All intervals of one key."""
        several = self.several.get(key)
        if several is not None:
            return several
        return (self.single[key],) if key in self.single else ()


def nic_side(connection: Connection, holds: ColumnElement[bool]) -> NicSide:
    """The intervals that match the condition."""
    n = nic.c
    query = select(n.id, n.host, n.uuid, n.domain, n.mac).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    side = NicSide({}, {})
    for number, host, uuid, domain, mac in rows:
        key = (host, domain if uuid is None else uuid, mac)
        first = side.single.setdefault(key, number)
        if first != number:
            side.several.setdefault(key, [first]).append(number)
    return side


def nic_intervals(connection: Connection, ids: Sequence[int]) -> dict[int, NicInterval]:
    """Intervals by id."""
    n = nic.c
    query = select(n.id, n.host, n.opened_as, *(n[name] for name in NicFacts._fields))
    return {
        number: NicInterval(host, opened_as, NicFacts._make(facts))
        for some in chunks(ids)
        for number, host, opened_as, *facts in connection.execute(query.where(n.id.in_(some)))
    }


def differing_pairs(
    connection: Connection, pair: AuditPair, pairs: Mapping[int, int], sides: Sequence[NicSide]
) -> Iterator[tuple[NicInterval, NicInterval]]:
    """The intervals of these pairs of ids, if any column differs."""
    old, new = (_addresses(side) for side in sides)
    joined = sum(number * new[mac] for mac, number in old.items())
    if joined > _MOST_JOINED * len(pairs):
        yield from _pairs_by_id(connection, pairs)
    elif pairs:
        yield from _pairs_by_address(connection, pair, pairs)


def _addresses(side: NicSide) -> Counter[str | None]:
    """Number of intervals for each address."""
    counts = Counter(mac for _host, _domain, mac in side.single)
    for key, ids in side.several.items():
        counts[key[2]] += len(ids) - 1
    return counts


def _pairs_by_address(
    connection: Connection, pair: AuditPair, pairs: Mapping[int, int]
) -> Iterator[tuple[NicInterval, NicInterval]]:
    """Let the database join the intervals of an address on a host and compare them. The work grows
    with the square of the number of NICs that share an address."""
    old, new = nic.alias("old_nic"), nic.alias("new_nic")
    differs = or_(*(old.c[name].is_distinct_from(new.c[name]) for name in COMPARED))
    facts = [side.c[name] for side in (old, new) for name in NicFacts._fields]
    same = and_(new.c.host == old.c.host, new.c.mac == old.c.mac)
    query = select(old.c.id, new.c.id, new.c.host, *facts).join(new, same)
    rows = connection.execute(query.where(pair.held_before(old), pair.held_after(new), differs))
    width = len(NicFacts._fields)
    for ended, begun, host, *values in chain.from_iterable(rows.partitions(AT_ONCE)):
        if pairs.get(ended) == begun:
            yield (
                NicInterval(host, "", NicFacts._make(values[:width])),
                NicInterval(host, "", NicFacts._make(values[width:])),
            )


def _pairs_by_id(
    connection: Connection, pairs: Mapping[int, int]
) -> Iterator[tuple[NicInterval, NicInterval]]:
    """Slower than :func:`_pairs_by_address` if addresses are unique, but the work grows only with
    the number of pairs, however many share an address."""
    for some in chunks(list(pairs.items()), MANY // 2):
        nics = nic_intervals(connection, list(chain.from_iterable(some)))
        for ended, begun in some:
            yield nics[ended], nics[begun]
