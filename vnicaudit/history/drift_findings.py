"""Findings that differ between two audits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from vnicaudit.history.drift_sides import (
    AT_ONCE,
    AuditPair,
    Interval,
    OneSided,
    across_hosts,
    elsewhere,
    ending,
    origin,
)
from vnicaudit.history.known import chunks
from vnicaudit.history.matching import grouped
from vnicaudit.history.records import finding_record
from vnicaudit.history.tables import finding, problem
from vnicaudit.model.history import FindingRecord


class _Problem(NamedTuple):
    rule: str
    name: str
    severity: str
    owner: str
    message: str


class _Content(NamedTuple):
    """As few columns of a finding as tell whether something differs."""

    id: int
    host: int
    fingerprint: bytes
    problem: int
    accepted: int
    opened_as: str


_Problems = Mapping[int, _Problem]
_Told = Iterator[tuple[int, str]]
"""Ids of the intervals to be told of, each with the state that is told."""


def finding_drift(connection: Connection, pair: AuditPair) -> list[FindingRecord]:
    """The differences, sorted by state, rule, host and what they are about."""
    before = _contents(connection, pair.held_before(finding))
    after = _contents(connection, pair.held_after(finding))
    numbers = {one.problem for one in (*before, *after)}
    problems = _problems(connection, pair, sorted(numbers))
    old, new = (
        {(one.host, one.fingerprint): one for one in some if one.problem in problems}
        for some in (before, after)
    )
    told = dict(_changed(pair, problems, old, new))
    ended = [one for key, one in old.items() if key not in new]
    begun = [one for key, one in new.items() if key not in old]
    told.update(_one_sided(connection, pair, ended, begun))
    return sorted(_records(connection, pair, problems, told), key=_order)


def _order(one: FindingRecord) -> tuple[str, ...]:
    return one.state, one.rule, one.host, one.subject, one.mac or "", one.fingerprint


def _contents(connection: Connection, holds: ColumnElement[bool]) -> list[_Content]:
    query = select(*(finding.c[name] for name in _Content._fields)).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    return [_Content._make(row) for row in rows]


def _problems(connection: Connection, pair: AuditPair, ids: list[int]) -> dict[int, _Problem]:
    """Those of the rules that both audits asked."""
    p = problem.c
    query = select(p.id, *(p[name] for name in _Problem._fields))
    query = query.where(p.rule.in_(sorted(pair.rules)))
    return {
        number: _Problem._make(values)
        for some in chunks(ids)
        for number, *values in connection.execute(query.where(p.id.in_(some)))
    }


def _changed(
    pair: AuditPair,
    problems: _Problems,
    old: Mapping[tuple[int, bytes], _Content],
    new: Mapping[tuple[int, bytes], _Content],
) -> _Told:
    """Findings that are on one host at both audits, and what changed."""
    for key, one in new.items():
        was = old.get(key)
        if was is None or one.host not in pair.hosts:
            continue
        state = _acceptance(was, one) or _wording(was, one, problems)
        if state is not None:
            yield one.id, state


def _acceptance(old: _Content, new: _Content) -> str | None:
    if bool(old.accepted) == bool(new.accepted):
        return None
    return "suppressed" if new.accepted else "unsuppressed"


def _wording(old: _Content, new: _Content, problems: _Problems) -> str | None:
    if old.problem == new.problem:
        return None
    was, now = problems[old.problem], problems[new.problem]
    return "changed" if (was.severity, was.message) != (now.severity, now.message) else None


def _one_sided(
    connection: Connection, pair: AuditPair, ended: list[_Content], begun: list[_Content]
) -> _Told:
    """Findings that are on their host at one of the audits alone."""
    contents = {one.id: one for one in chain(ended, begun)}
    gone, arrived = [], []
    for was, now in across_hosts(pair, map(_one, ended), map(_one, begun)):
        if was is not None and now is not None:
            yield now.id, _acceptance(contents[was.id], contents[now.id]) or "moved"
        elif was is not None:
            gone.append(contents[was.id])
        elif now is not None:
            arrived.append(contents[now.id])
    yield from _gone(connection, pair, gone)
    yield from _arrived(connection, pair, arrived)


def _one(one: _Content) -> OneSided:
    return OneSided(one.id, one.host, one.fingerprint)


def _gone(connection: Connection, pair: AuditPair, some: list[_Content]) -> _Told:
    past = _past(connection, pair, [one.fingerprint for one in some])
    for one in some:
        yield one.id, ending(past[one.fingerprint], one.host, pair)


def _arrived(connection: Connection, pair: AuditPair, some: list[_Content]) -> _Told:
    known = [one.fingerprint for one in some if one.opened_as != "new"]
    past = _past(connection, pair, known)
    for one in some:
        intervals = past.get(one.fingerprint)
        if one.accepted:
            yield one.id, "suppressed"
        elif intervals is None:
            yield one.id, "new"
        elif elsewhere(intervals, one.host, pair) is not None:
            yield one.id, "moved"
        else:
            yield one.id, origin(intervals, pair)


def _past(
    connection: Connection, pair: AuditPair, fingerprints: Collection[bytes]
) -> dict[bytes, list[Interval]]:
    """The intervals of findings until the second audit, oldest first."""
    f = finding.c
    query = select(f.fingerprint, *(f[name] for name in Interval._fields))
    query = query.where(f.opened <= pair.after).order_by(f.id)
    rows = (
        row
        for some in chunks(list(fingerprints))
        for row in connection.execute(query.where(f.fingerprint.in_(some)))
    )
    return grouped((key, Interval._make(values)) for key, *values in rows)


def _records(
    connection: Connection, pair: AuditPair, problems: _Problems, told: Mapping[int, str]
) -> Iterator[FindingRecord]:
    f = finding.c
    query = select(f.id, f.host, f.problem, f.subject, f.uuid, f.mac, f.fingerprint, f.first_seen)
    query = query.add_columns(f.reopened)
    for some in chunks(list(told)):
        for number, host, what, *values in connection.execute(query.where(f.id.in_(some))):
            yield finding_record(told[number], (*pair.names[host], *problems[what], *values))
