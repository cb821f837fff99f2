"""NICs that differ between two audits. The database compares their columns: of the many whose
intervals differ, few do themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.drift_sides import (
    AT_ONCE,
    CHANGES,
    AuditPair,
    Course,
    HostName,
    Key,
    Pairing,
    courses,
    pairing,
)
from vnicaudit.history.known import MANY, chunks
from vnicaudit.history.rows import NicFacts, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.history.transitions import COMPARED, Value, changed_values, nic_key
from vnicaudit.model.history import NicRecord

_PLACES = {name: place for place, name in enumerate(NicFacts._fields)}
_MOST_JOINED = 4
"""Joined intervals of one MAC address, for each pair that is compared: more are fetched by id."""
_Addresses = defaultdict["str | None", int]
Changes = dict[str, tuple[str | int | None, str | int | None]]


class _NicInterval(NamedTuple):
    """An interval that is in the report: its host's number, and its columns."""

    host: int
    opened_as: str
    closed_as: str
    facts: Sequence[object]

    @property
    def key(self) -> Key:
        """The host and the address, which its course is found by."""
        return self.host, self.facts[_PLACES["mac"]]


def nic_drift(connection: Connection, pair: AuditPair) -> list[NicRecord]:
    """The differences, sorted by state, host, domain and MAC address."""
    addresses: tuple[_Addresses, _Addresses] = (defaultdict(int), defaultdict(int))
    paired = pairing(
        _keys(connection, pair.hosts, pair.held_before(nic), addresses[0]),
        _keys(connection, pair.hosts, pair.held_after(nic), addresses[1]),
    )
    joined = sum(number * addresses[1].get(mac, 0) for mac, number in addresses[0].items())
    is_crowded = joined > _MOST_JOINED * len(paired.changed)
    both = (
        _pairs_by_id(connection, paired)
        if is_crowded
        else _pairs_by_address(connection, pair, paired)
    )
    changed = (
        _record("changed", pair.hosts[host], new, changes)
        for host, old, new in both
        if (changes := _changes(old, new))
    )
    records = [*changed, *_one_sided(connection, pair, paired)]
    return sorted(records, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _keys(
    connection: Connection,
    hosts: Container[int],
    holds: ColumnElement[bool],
    addresses: _Addresses,
) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Intervals on these hosts, each with the host and
    :func:`vnicaudit.history.transitions.nic_key`. ``addresses``: counts those of all hosts."""
    n = nic.c
    query = select(n.id, n.host, n.uuid, n.domain, n.mac, n.nic_index).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    for number, host, uuid, domain, mac, index in rows:
        addresses[mac] += 1
        if host in hosts:
            yield number, (host, *nic_key(uuid, domain, mac, index))


def _pairs_by_address(
    connection: Connection, pair: AuditPair, paired: Pairing
) -> Iterator[tuple[int, NicFacts, NicFacts]]:
    """NICs of which a column differs, each with its host: the database joins the intervals of one
    address on a host, and compares them. The work grows with the square of the number of NICs
    that share an address."""
    if not paired.changed:
        return
    old, new = nic.alias("old_nic"), nic.alias("new_nic")
    differs = or_(*(old.c[name].is_distinct_from(new.c[name]) for name in COMPARED))
    facts = [side.c[name] for side in (old, new) for name in NicFacts._fields]
    query = select(old.c.id, new.c.id, new.c.host, *facts).where(
        pair.held_before(old), pair.held_after(new), differs
    )
    no_mac = and_(old.c.mac.is_(None), new.c.mac.is_(None), new.c.nic_index == old.c.nic_index)
    width = len(NicFacts._fields)
    for same in (new.c.mac == old.c.mac, no_mac):
        rows = connection.execute(query.join(new, and_(new.c.host == old.c.host, same)))
        for ended, begun, host, *values in chain.from_iterable(rows.partitions(AT_ONCE)):
            if paired.changed.get(ended) == begun:
                yield host, NicFacts._make(values[:width]), NicFacts._make(values[width:])


def _pairs_by_id(
    connection: Connection, paired: Pairing
) -> Iterator[tuple[int, NicFacts, NicFacts]]:
    """All NICs with an interval on both sides, each with its host: fetched by the ids of their
    intervals. Slower than :func:`_pairs_by_address` where addresses are distinct; the work grows
    with the number of pairs alone, however many share an address."""
    n = nic.c
    query = select(n.id, n.host, *(n[name] for name in NicFacts._fields))
    for some in chunks(list(paired.changed.items()), MANY // 2):
        rows = connection.execute(query.where(n.id.in_(list(chain.from_iterable(some)))))
        facts = {number: (host, NicFacts._make(values)) for number, host, *values in rows}
        for ended, begun in some:
            yield facts[begun][0], facts[ended][1], facts[begun][1]


def _changes(old: NicFacts, new: NicFacts) -> Changes:
    values = changed_values(old, new)
    return {name: (_plain_value(was), _plain_value(now)) for name, (was, now) in values.items()}


def _plain_value(value: Value) -> str | int | None:
    return uuid_text(value) if isinstance(value, bytes) else value


def _one_sided(connection: Connection, pair: AuditPair, paired: Pairing) -> Iterator[NicRecord]:
    """NICs that are at one of the audits alone; where one moved is told, not whence."""
    ended, begun = (
        _reported_intervals(connection, paired.only_before),
        _reported_intervals(connection, paired.only_after),
    )
    unclear = [one.key for one in ended if one.closed_as in CHANGES]
    unclear += [one.key for one in begun if one.opened_as in CHANGES]
    known = courses(connection, pair, nic.c.mac, unclear)
    for one in ended:
        how = known.get(one.key, Course(ended_as=one.closed_as)).ended_as
        if how != "moved":
            yield _record(how, pair.hosts[one.host], one.facts)
    for one in begun:
        how = known.get(one.key, Course(began_as=one.opened_as)).began_as
        yield _record(how, pair.hosts[one.host], one.facts)


def _reported_intervals(connection: Connection, ids: Sequence[int]) -> list[_NicInterval]:
    n = nic.c
    facts = (n[name] for name in NicFacts._fields)
    query = select(n.host, n.opened_as, n.closed_as, *facts)
    return [
        _NicInterval(host, opened_as, closed_as or "", facts)
        for some in chunks(ids)
        for host, opened_as, closed_as, *facts in connection.execute(query.where(n.id.in_(some)))
    ]


def _record(
    state: str, host: HostName, facts: Sequence[object], changes: Changes | None = None
) -> NicRecord:
    one = NicFacts._make(facts)
    return NicRecord(
        state=state,
        host=host.name,
        site=host.site,
        domain=one.domain,
        uuid=uuid_text(one.uuid),
        mac=one.mac,
        model=one.model,
        changes=changes or {},
    )
