"""NICs that differ between two audits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from vnicaudit.history.drift_nic_rows import (
    HostNicKey,
    NicInterval,
    NicSide,
    differing_pairs,
    nic_intervals,
    nic_side,
)
from vnicaudit.history.drift_sides import AuditPair, Move, OneSided, across_hosts
from vnicaudit.history.known import CHANGES, nics_with
from vnicaudit.history.matching import grouped, matched
from vnicaudit.history.rows import NicFacts, NicKey, nic_key, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.history.transitions import Value, changed_values
from vnicaudit.model.history import NicRecord

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
