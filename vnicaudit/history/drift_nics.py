"""NICs that differ between two audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.hosts import CHANGES, MANY, chunks, nics_with
from vnicaudit.history.rows import NicFacts, NicKey, nic_key, uuid_text
from vnicaudit.history.tables import (
    AT_ONCE,
    AuditPair,
    Move,
    OneSided,
    across_hosts,
    grouped,
    matched,
    nic,
)
from vnicaudit.history.transitions import COMPARED, Value, changed_values
from vnicaudit.model.history import NicRecord

# Intervals of NICs that exist in only one of two audits. The database compares their columns,
# because of many differing intervals only few differ in content.


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


Changes = dict[str, tuple[str | int | None, str | int | None]]


class _Past(NamedTuple):
    """An interval of a NIC, on whichever host."""

    id: int
    host: int
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None


def nic_drift(connection: Connection, pair: AuditPair) -> list[NicRecord]:
    """The differences, sorted by state, host, domain and MAC address."""
    old = nic_side(connection, pair.held_before(nic))
    new = nic_side(connection, pair.held_after(nic))
    several = {*old.several, *new.several}
    same = [key for key in old.single if key in new.single and key[2] and key not in several]
    pairs = {old.single[key]: new.single[key] for key in same if key[0] in pair.hosts}
    records = [
        _record("changed", pair, now, changes)
        for was, now in differing_pairs(connection, pair, pairs, (old, new))
        if (changes := _changes(was.facts, now.facts))
    ]
    settled = frozenset(same)
    others = {key: None for side in (old, new) for key in side.single if key not in settled}
    records += _one_sided(connection, pair, list(others), (old, new))
    return sorted(records, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _one_sided(
    connection: Connection, pair: AuditPair, keys: Sequence[HostNicKey], sides: Sequence[NicSide]
) -> Iterator[NicRecord]:
    """NICs that share their key with others on their host, or exist in only one of the audits."""
    compared = {key[1:] for key in keys if key[0] in pair.hosts}
    keys = [key for key in keys if key[1:] in compared]
    ids = [number for key in keys for side in sides for number in side.of(key)]
    nics = nic_intervals(connection, ids)
    ended, begun = [], []
    for was, now in _on_hosts(nics, keys, sides):
        if was is None or now is None:
            ended += [] if was is None else [was]
            begun += [] if now is None else [now]
        elif was.host in pair.hosts and was.state != now.state:
            changes = _changes(nics[was.id].facts, nics[now.id].facts)
            yield _record("changed", pair, nics[now.id], changes)
    left, arrived = [], []
    for was, now in across_hosts(pair, ended, begun):
        if was is not None and now is not None:
            yield _moved(pair, nics[was.id], nics[now.id])
        elif was is not None:
            left.append(nics[was.id])
        elif now is not None:
            arrived.append(nics[now.id])
    yield from _departed(connection, pair, left)
    yield from _arrived(connection, pair, arrived)


def _on_hosts(
    nics: Mapping[int, NicInterval], keys: Iterable[HostNicKey], sides: Sequence[NicSide]
) -> Iterator[Move]:
    """NICs of one host, each paired with itself if it exists in both audits."""
    for key in keys:
        both = []
        for side in sides:
            some = [_as_one_sided(number, nics[number]) for number in side.of(key)]
            some.sort(key=lambda one: (one.place, one.id))
            both.append([(one.state, one) for one in some])
        yield from matched(*both)


def _as_one_sided(number: int, one: NicInterval) -> OneSided:
    return OneSided(number, one.host, one.facts.key, one.facts.state, one.facts.nic_index)


def _departed(
    connection: Connection, pair: AuditPair, nics: Sequence[NicInterval]
) -> Iterator[NicRecord]:
    """NICs that left a host and appeared on no other one: gone, unless another one had them before
    already."""
    past = _past(connection, pair, {one.facts.key for one in nics if one.facts.mac is not None})
    there = _elsewhere(connection, pair, nics, past, pair.after)
    for one in nics:
        now = there.get((one.host, one.facts.key))
        yield _record("gone", pair, one) if now is None else _moved(pair, one, now)


def _arrived(
    connection: Connection, pair: AuditPair, nics: Sequence[NicInterval]
) -> Iterator[NicRecord]:
    """NICs that appeared on a host and did not leave another one since the first audit."""
    known = {one.facts.key for one in nics if one.opened_as != "new"}
    past = _past(connection, pair, known)
    words = {key: _origin(intervals, pair) for key, intervals in past.items()}
    there = _elsewhere(connection, pair, nics, past, pair.before)
    for one in nics:
        was = there.get((one.host, one.facts.key))
        if was is not None:
            yield _moved(pair, was, one)
        else:
            yield _record(words.get(one.facts.key, "new"), pair, one)


def _past(
    connection: Connection, pair: AuditPair, keys: Collection[NicKey]
) -> dict[NicKey, list[_Past]]:
    """The intervals of NICs up to the second audit, oldest first."""
    n = nic.c
    query = select(n.uuid, n.domain, n.mac, *(n[name] for name in _Past._fields))
    query = query.where(n.opened <= pair.after).order_by(n.id)
    rows = (row for some in nics_with(keys) for row in connection.execute(query.where(some)))
    keyed = ((nic_key(*row[:3]), _Past._make(row[3:])) for row in rows)
    return grouped((key, one) for key, one in keyed if key in keys)


def _elsewhere(
    connection: Connection,
    pair: AuditPair,
    nics: Iterable[NicInterval],
    past: Mapping[NicKey, Sequence[_Past]],
    at: int,
) -> dict[tuple[int, NicKey], NicInterval]:
    """By host and key of these NICs: the NIC with that key that another host had at that audit."""
    places = {(one.host, one.facts.key) for one in nics if one.facts.key in past}
    found = {(host, key): _on_another(past[key], host, pair, at) for host, key in places}
    there = {place: number for place, number in found.items() if number is not None}
    known = nic_intervals(connection, list(there.values()))
    return {place: known[number] for place, number in there.items()}


def _on_another(intervals: Iterable[_Past], host: int, pair: AuditPair, at: int) -> int | None:
    """Id of the interval that existed on another host at that audit."""
    there = [
        (pair.names[one.host].name, one.id)
        for one in intervals
        if one.host != host and one.opened <= at
        and (one.closed is None or one.closed > at)
    ]  # fmt: skip
    return min(there)[1] if there else None


def _origin(intervals: Sequence[_Past], pair: AuditPair) -> str:
    """The state of a NIC that was nowhere at the first audit, or had fewer with the same key
    there."""
    known = [one for one in intervals if one.opened <= pair.before]
    if not known:  # never before, or since removed from the history
        return intervals[0].opened_as
    ends = [one for one in known if one.closed and one.closed <= pair.before]
    return "returned" if any(one.closed_as not in CHANGES for one in ends) else "new"


def _moved(pair: AuditPair, old: NicInterval, new: NicInterval) -> NicRecord:
    """A record for a moved NIC: at its current host, with both hosts among the changes."""
    names = (pair.names[old.host].name, pair.names[new.host].name)
    return _record("moved", pair, new, {"host": names, **_changes(old.facts, new.facts)})


def _changes(old: NicFacts, new: NicFacts) -> Changes:
    values = changed_values(old, new)
    return {name: (_plain_value(was), _plain_value(now)) for name, (was, now) in values.items()}


def _plain_value(value: Value) -> str | int | None:
    return uuid_text(value) if isinstance(value, bytes) else value


def _record(
    state: str, pair: AuditPair, nic: NicInterval, changes: Changes | None = None
) -> NicRecord:
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
