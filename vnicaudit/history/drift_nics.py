"""NICs that differ between two audits. The database compares their columns: of the many whose
intervals differ, few do themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.drift_sides import (
    AT_ONCE,
    AuditPair,
    Move,
    OneSided,
    across_hosts,
)
from vnicaudit.history.known import CHANGES, MANY, chunks, nics_with
from vnicaudit.history.matching import grouped, matched
from vnicaudit.history.rows import NicFacts, NicKey, nic_key, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.history.transitions import COMPARED, Value, changed_values
from vnicaudit.model.history import NicRecord

_MOST_JOINED = 4
"""Joined intervals of one MAC address, for each pair that is compared: more are fetched by id."""
_Key = tuple[int, "bytes | str", "str | None"]
"""Host, UUID or name of a domain, and MAC address."""
Changes = dict[str, tuple[str | int | None, str | int | None]]


class _Nic(NamedTuple):
    """An interval: its host's number, how it began, and its columns."""

    host: int
    opened_as: str
    facts: NicFacts


class _Side(NamedTuple):
    """Ids of the intervals that are at one of the audits alone. ``several``: of NICs that have
    their like on their host, and so of those without an address."""

    single: dict[_Key, int]
    several: dict[_Key, list[int]]

    def of(self, key: _Key) -> Sequence[int]:
        """All of one key."""
        several = self.several.get(key)
        if several is not None:
            return several
        return (self.single[key],) if key in self.single else ()


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
    old = _side(connection, pair.held_before(nic))
    new = _side(connection, pair.held_after(nic))
    several = {*old.several, *new.several}
    same = [key for key in old.single if key in new.single and key[2] and key not in several]
    pairs = {old.single[key]: new.single[key] for key in same if key[0] in pair.hosts}
    records = [
        _record("changed", pair, now, changes)
        for was, now in _pairs(connection, pair, pairs, (old, new))
        if (changes := _changes(was.facts, now.facts))
    ]
    settled = frozenset(same)
    others = {key: None for side in (old, new) for key in side.single if key not in settled}
    records += _one_sided(connection, pair, list(others), (old, new))
    return sorted(records, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _side(connection: Connection, holds: ColumnElement[bool]) -> _Side:
    n = nic.c
    query = select(n.id, n.host, n.uuid, n.domain, n.mac).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    side = _Side({}, {})
    for number, host, uuid, domain, mac in rows:
        key = (host, domain if uuid is None else uuid, mac)
        first = side.single.setdefault(key, number)
        if first != number:
            side.several.setdefault(key, [first]).append(number)
    return side


def _pairs(
    connection: Connection, pair: AuditPair, pairs: Mapping[int, int], sides: Sequence[_Side]
) -> Iterator[tuple[_Nic, _Nic]]:
    """The intervals of these pairs of ids, as far as a column differs."""
    old, new = (_addresses(side) for side in sides)
    joined = sum(number * new[mac] for mac, number in old.items())
    if joined > _MOST_JOINED * len(pairs):
        yield from _pairs_by_id(connection, pairs)
    elif pairs:
        yield from _pairs_by_address(connection, pair, pairs)


def _addresses(side: _Side) -> Counter[str | None]:
    """How many intervals each address has."""
    counts = Counter(mac for _host, _domain, mac in side.single)
    for key, ids in side.several.items():
        counts[key[2]] += len(ids) - 1
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


def _one_sided(
    connection: Connection, pair: AuditPair, keys: Sequence[_Key], sides: Sequence[_Side]
) -> Iterator[NicRecord]:
    """NICs that have their like on their host, or are there at one of the audits alone."""
    compared = {key[1:] for key in keys if key[0] in pair.hosts}
    keys = [key for key in keys if key[1:] in compared]
    ids = [number for key in keys for side in sides for number in side.of(key)]
    nics = _intervals(connection, ids)
    ended, begun = [], []
    for was, now in _on_hosts(nics, keys, sides):
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


def _on_hosts(
    nics: Mapping[int, _Nic], keys: Iterable[_Key], sides: Sequence[_Side]
) -> Iterator[Move]:
    """NICs of one host, each with itself where it is there at both audits."""
    for key in keys:
        both = []
        for side in sides:
            some = [_as_one_sided(number, nics[number]) for number in side.of(key)]
            some.sort(key=lambda one: (one.place, one.id))
            both.append([(one.state, one) for one in some])
        yield from matched(*both)


def _as_one_sided(number: int, one: _Nic) -> OneSided:
    return OneSided(number, one.host, one.facts.key, one.facts.state, one.facts.nic_index)


def _arrived(connection: Connection, pair: AuditPair, nics: Sequence[_Nic]) -> Iterator[NicRecord]:
    """NICs that came to a host; none of them has left another one since the first audit."""
    known = {one.facts.key for one in nics if one.opened_as != "new"}
    past = _past(connection, pair, known)
    words = {key: _origin(intervals, pair) for key, intervals in past.items()}
    places = {(one.host, one.facts.key) for one in nics if one.facts.key in past}
    there = {place: _elsewhere(past[place[1]], place[0], pair) for place in places}
    sources = _intervals(connection, [number for number in there.values() if number is not None])
    for one in nics:
        source = there.get((one.host, one.facts.key))
        if source is not None:
            yield _moved(pair, sources[source], one)
        else:
            yield _record(words.get(one.facts.key, "new"), pair, one)


def _past(
    connection: Connection, pair: AuditPair, keys: Collection[NicKey]
) -> dict[NicKey, list[_Past]]:
    """The intervals of NICs until the second audit, oldest first."""
    n = nic.c
    query = select(n.uuid, n.domain, n.mac, *(n[name] for name in _Past._fields))
    query = query.where(n.opened <= pair.after).order_by(n.id)
    rows = (row for some in nics_with(keys) for row in connection.execute(query.where(some)))
    keyed = ((nic_key(*row[:3]), _Past._make(row[3:])) for row in rows)
    return grouped((key, one) for key, one in keyed if key in keys)


def _elsewhere(intervals: Iterable[_Past], host: int, pair: AuditPair) -> int | None:
    """The interval that held on another host at the first audit."""
    there = [
        (pair.names[one.host].name, one.id)
        for one in intervals
        if one.host != host and one.opened <= pair.before
        and (one.closed is None or one.closed > pair.before)
    ]  # fmt: skip
    return min(there)[1] if there else None


def _origin(intervals: Sequence[_Past], pair: AuditPair) -> str:
    """The state of a NIC that was nowhere at the first audit, or had fewer of its like there."""
    known = [one for one in intervals if one.opened <= pair.before]
    if not known:  # never before, or removed since from the history
        return intervals[0].opened_as
    ends = [one for one in known if one.closed and one.closed <= pair.before]
    return "returned" if any(one.closed_as not in CHANGES for one in ends) else "new"


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
