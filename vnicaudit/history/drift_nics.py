"""NICs that differ between two audits. The database compares their columns: of the many whose
intervals differ, few do themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.drift_sides import (
    AT_ONCE,
    AuditPair,
    Interval,
    Move,
    OneSided,
    across_hosts,
    elsewhere,
    origin,
)
from vnicaudit.history.known import MANY, chunks, nics_with
from vnicaudit.history.matching import grouped, matched
from vnicaudit.history.rows import NicFacts, NicKey, nic_key, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.history.transitions import COMPARED, Value, changed_values
from vnicaudit.model.history import NicRecord

_MOST_JOINED = 4
"""Joined intervals of one MAC address, for each pair that is compared: more are fetched by id."""
_Side = dict[tuple[int, NicKey], list[int]]
"""Ids of intervals by host and NIC."""
Changes = dict[str, tuple[str | int | None, str | int | None]]


class _Nic(NamedTuple):
    """An interval: its host's number, how it began, and its columns."""

    host: int
    opened_as: str
    facts: NicFacts


def nic_drift(connection: Connection, pair: AuditPair) -> list[NicRecord]:
    """The differences, sorted by state, host, domain and MAC address."""
    old = _side(connection, pair.held_before(nic))
    new = _side(connection, pair.held_after(nic))
    alone = {key for key, ids in old.items() if len(ids) == len(new.get(key, ())) == 1}
    alone = {(host, key) for host, key in alone if key[1] is not None}
    pairs = {old[each][0]: new[each][0] for each in alone if each[0] in pair.hosts}
    records = [
        _record("changed", pair, now, changes)
        for was, now in _pairs(connection, pair, pairs, (old, new))
        if (changes := _changes(was.facts, now.facts))
    ]
    for side in (old, new):
        for each in alone:
            del side[each]
    records += _others(connection, pair, old, new)
    return sorted(records, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _side(connection: Connection, holds: ColumnElement[bool]) -> _Side:
    n = nic.c
    query = select(n.id, n.host, n.uuid, n.domain, n.mac).where(holds)
    side: _Side = {}
    for number, host, *key in chain.from_iterable(connection.execute(query).partitions(AT_ONCE)):
        side.setdefault((host, nic_key(*key)), []).append(number)
    return side


def _pairs(
    connection: Connection, pair: AuditPair, pairs: Mapping[int, int], sides: Sequence[_Side]
) -> Iterator[tuple[_Nic, _Nic]]:
    """The intervals of these pairs of ids, as far as a column differs."""
    old, new = (_addresses(side) for side in sides)
    joined = sum(number * new.get(mac, 0) for mac, number in old.items())
    if joined > _MOST_JOINED * len(pairs):
        yield from _pairs_by_id(connection, pairs)
    elif pairs:
        yield from _pairs_by_address(connection, pair, pairs)


def _addresses(side: _Side) -> dict[str | None, int]:
    """How many intervals each address has."""
    counts: defaultdict[str | None, int] = defaultdict(int)
    for (_host, key), ids in side.items():
        counts[key[1]] += len(ids)
    return counts


def _pairs_by_address(
    connection: Connection, pair: AuditPair, pairs: Mapping[int, int]
) -> Iterator[tuple[_Nic, _Nic]]:
    """The database joins the intervals of one address on a host, and compares them. The work grows
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
                _Nic(host, "", NicFacts._make(values[:width])),
                _Nic(host, "", NicFacts._make(values[width:])),
            )


def _pairs_by_id(connection: Connection, pairs: Mapping[int, int]) -> Iterator[tuple[_Nic, _Nic]]:
    """Slower than :func:`_pairs_by_address` where addresses are distinct; the work grows with the
    number of pairs alone, however many share an address."""
    for some in chunks(list(pairs.items()), MANY // 2):
        nics = _intervals(connection, list(chain.from_iterable(some)))
        for ended, begun in some:
            yield nics[ended], nics[begun]


def _intervals(connection: Connection, ids: Sequence[int]) -> dict[int, _Nic]:
    n = nic.c
    query = select(n.id, n.host, n.opened_as, *(n[name] for name in NicFacts._fields))
    return {
        number: _Nic(host, opened_as, NicFacts._make(facts))
        for some in chunks(ids)
        for number, host, opened_as, *facts in connection.execute(query.where(n.id.in_(some)))
    }


def _others(connection: Connection, pair: AuditPair, old: _Side, new: _Side) -> Iterator[NicRecord]:
    """NICs that have their like on their host, or are there at one of the audits alone."""
    keys = {key for side in (old, new) for host, key in side if host in pair.hosts}
    sides = [{each: ids for each, ids in side.items() if each[1] in keys} for side in (old, new)]
    ids = [number for side in sides for some in side.values() for number in some]
    nics = _intervals(connection, ids)
    ended, begun = [], []
    for was, now in _on_hosts(nics, *sides):
        if was is None or now is None:
            ended += [] if was is None else [was]
            begun += [] if now is None else [now]
        elif was.host in pair.hosts and was.state != now.state:
            changes = _changes(nics[was.id].facts, nics[now.id].facts)
            yield _record("changed", pair, nics[now.id], changes)
    arrived = []
    for was, now in across_hosts(pair, ended, begun):
        if was is not None and now is not None:
            yield _moved(pair, nics[was.id], nics[now.id])
        elif was is not None:
            yield _record("gone", pair, nics[was.id])
        elif now is not None:
            arrived.append(nics[now.id])
    yield from _arrived(connection, pair, arrived)


def _on_hosts(nics: Mapping[int, _Nic], old: _Side, new: _Side) -> Iterator[Move]:
    """NICs of one host, each with itself where it is there at both audits."""
    for each in {**old, **new}:
        both = (
            [_one(number, nics[number]) for number in side.get(each, ())] for side in (old, new)
        )
        ordered = (sorted(some, key=lambda one: (one.place, one.id)) for some in both)
        yield from matched(*([(one.state, one) for one in some] for some in ordered))


def _one(number: int, one: _Nic) -> OneSided:
    return OneSided(number, one.host, one.facts.key, one.facts.state, one.facts.nic_index)


def _arrived(connection: Connection, pair: AuditPair, nics: Sequence[_Nic]) -> Iterator[NicRecord]:
    """NICs that came to a host; none of them has left another one since the first audit."""
    known = [one.facts.key for one in nics if one.opened_as != "new"]
    past = _past(connection, pair, known)
    there = [elsewhere(past.get(one.facts.key, ()), one.host, pair) for one in nics]
    sources = _intervals(connection, [one.id for one in there if one is not None])
    for one, source in zip(nics, there, strict=True):
        if source is not None:
            yield _moved(pair, sources[source.id], one)
        else:
            intervals = past.get(one.facts.key)
            yield _record(origin(intervals, pair) if intervals else "new", pair, one)


def _past(
    connection: Connection, pair: AuditPair, keys: Collection[NicKey]
) -> dict[NicKey, list[Interval]]:
    """The intervals of NICs until the second audit, oldest first."""
    n = nic.c
    query = select(n.uuid, n.domain, n.mac, *(n[name] for name in Interval._fields))
    query = query.where(n.opened <= pair.after).order_by(n.id)
    wanted = frozenset(keys)
    rows = (row for some in nics_with(wanted) for row in connection.execute(query.where(some)))
    keyed = ((nic_key(*row[:3]), Interval._make(row[3:])) for row in rows)
    return grouped((key, one) for key, one in keyed if key in wanted)


def _moved(pair: AuditPair, old: _Nic, new: _Nic) -> NicRecord:
    """Told where it is now, with the host that it left among what changed."""
    names = (pair.names[old.host].name, pair.names[new.host].name)
    return _record("moved", pair, new, {"host": names, **_changes(old.facts, new.facts)})


def _changes(old: NicFacts, new: NicFacts) -> Changes:
    values = changed_values(old, new)
    return {name: (_plain_value(was), _plain_value(now)) for name, (was, now) in values.items()}


def _plain_value(value: Value) -> str | int | None:
    return uuid_text(value) if isinstance(value, bytes) else value


def _record(state: str, pair: AuditPair, nic: _Nic, changes: Changes | None = None) -> NicRecord:
    host, one = pair.names[nic.host], nic.facts
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
