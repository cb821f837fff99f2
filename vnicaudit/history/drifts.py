"""The differences between two audits, in the part that both covered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, select

from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import audit_name, number_of
from vnicaudit.history.database import Database
from vnicaudit.history.drift_nics import nic_drift
from vnicaudit.history.hosts import chunks
from vnicaudit.history.records import finding_record
from vnicaudit.history.tables import (
    AT_ONCE,
    WAS_READ,
    AuditPair,
    OneSided,
    across_hosts,
    audit,
    basis,
    basis_rule,
    finding,
    grouped,
    host_names,
    problem,
    reading,
)
from vnicaudit.model.history import Drift, FindingRecord

# Findings that differ between two audits.


class _Problem(NamedTuple):
    rule: str
    name: str
    severity: str
    owner: str
    message: str


class _Content(NamedTuple):
    """The columns of a finding that are needed to see if something differs. ``bound``: how its
    interval began or ended, whichever happened between the two audits. ``closed``: the audit that
    ended it."""

    id: int
    host: int
    fingerprint: bytes
    problem: int
    accepted: int
    bound: str
    closed: int | None


class _Passing(NamedTuple):
    """An interval that began and ended between the two audits."""

    id: int
    host: int
    opened_as: str
    closed: int
    closed_as: str


_Problems = Mapping[int, _Problem]
_ENDS = ("fixed", "gone")
_Side = Mapping[tuple[int, bytes], _Content]
"""(host, fingerprint) -> finding."""
_Told = Iterator[tuple[int, str]]
"""Ids of the intervals to report, each with the state to report."""


def finding_drift(connection: Connection, pair: AuditPair) -> list[FindingRecord]:
    """The differences, sorted by state, rule, host and subject."""
    f = finding.c
    before = _contents(connection, pair.held_before(finding), f.closed_as)
    after = _contents(connection, pair.held_after(finding), f.opened_as)
    numbers = {one.problem for one in (*before, *after)}
    problems = _problems(connection, pair, sorted(numbers))
    old, new = (
        {(one.host, one.fingerprint): one for one in some if one.problem in problems}
        for some in (before, after)
    )
    told: dict[int, str] = {}
    for number, state in chain(
        _changed(pair, problems, old, new), _one_sided(connection, pair, old, new)
    ):
        told.setdefault(number, state)
    return sorted(_records(connection, pair, told), key=_order)


def _order(one: FindingRecord) -> tuple[str, ...]:
    return one.state, one.rule, one.host, one.subject, one.mac or "", one.fingerprint


def _contents(
    connection: Connection, holds: ColumnElement[bool], bound: Column[str]
) -> list[_Content]:
    f = finding.c
    query = select(f.id, f.host, f.fingerprint, f.problem, f.accepted, bound, f.closed).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    return [_Content._make(row) for row in rows]


def _problems(connection: Connection, pair: AuditPair, ids: list[int]) -> dict[int, _Problem]:
    """The problems of rules that ran in both audits."""
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
    old: _Side,
    new: _Side,
) -> _Told:
    """Findings that are on the same host in both audits, and their changes."""
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


def _one_sided(connection: Connection, pair: AuditPair, old: _Side, new: _Side) -> _Told:
    """Findings that are on their host in only one of the audits."""
    ended = [_as_one_sided(one) for key, one in old.items() if key not in new]
    begun = [_as_one_sided(one) for key, one in new.items() if key not in old]
    contents = {one.id: one for one in chain(old.values(), new.values())}
    gone, arrived = [], []
    for was, now in across_hosts(pair, ended, begun):
        if was is not None and now is not None:
            yield now.id, _acceptance(contents[was.id], contents[now.id]) or "moved"
        elif was is not None:
            gone.append(contents[was.id])
        elif now is not None:
            arrived.append(contents[now.id])
    passing = _passing(connection, pair, {one.fingerprint for one in chain(gone, arrived)})
    yield from _arrived(arrived, passing, old, new)
    words = dict(_gone(gone, passing, old, new))
    there = _elsewhere(connection, pair, {one.fingerprint for one in gone})
    for one in gone:
        found = there.get(one.fingerprint) if words[one.id] == "gone" else None
        yield (one.id, words[one.id]) if found is None else (found, "moved")


def _elsewhere(
    connection: Connection, pair: AuditPair, fingerprints: Collection[bytes]
) -> dict[bytes, int]:
    """Findings that exist at the second audit: the interval on the first of their hosts by name."""
    f = finding.c
    query = select(f.fingerprint, f.host, f.id).where(pair.at_second(finding))
    rows = [
        (pair.names[host].name, number, bytes(mark))
        for some in chunks(list(fingerprints))
        for mark, host, number in connection.execute(query.where(f.fingerprint.in_(some)))
    ]
    return {mark: number for _name, number, mark in sorted(rows, reverse=True)}


def _as_one_sided(one: _Content) -> OneSided:
    return OneSided(one.id, one.host, one.fingerprint)


def _passing(
    connection: Connection, pair: AuditPair, fingerprints: Collection[bytes]
) -> dict[bytes, list[_Passing]]:
    """The intervals of these findings that began and ended between the audits, by fingerprint."""
    if not fingerprints:
        return {}
    f = finding.c
    between = (column.between(pair.before + 1, pair.after) for column in (f.opened, f.closed))
    query = select(f.fingerprint, *(f[name] for name in _Passing._fields)).where(*between)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    wanted = ((key, _Passing._make(row)) for key, *row in rows if key in fingerprints)
    return grouped(wanted)


def _gone(
    some: list[_Content], passing: Mapping[bytes, list[_Passing]], old: _Side, new: _Side
) -> _Told:
    """How findings ended that are nowhere now: on their host, or on a host they had moved to."""
    is_copied = len({mark for _host, mark in old}) < len(old)
    copies = grouped((one.fingerprint, one) for one in old.values()) if is_copied else {}
    for one in some:
        mark = one.fingerprint
        ends = [(each.closed or 0, each.host, each.bound) for each in copies.get(mark, (one,))]
        ends += [(each.closed, each.host, each.closed_as) for each in passing.get(mark, ())]
        is_only = len(ends) == 1 and one.bound in _ENDS
        yield one.id, one.bound if is_only else _last_end(one, ends, new)


def _last_end(one: _Content, ends: list[tuple[int, int, str]], new: _Side) -> str:
    """How a finding with several ends finally ended. ``ends``: audit, host and kind of each."""
    last = {host: (closed, host == one.host, how) for closed, host, how in sorted(ends)}
    words = [each for host, each in last.items() if (host, one.fingerprint) not in new]
    return max((each for each in words if each[2] in _ENDS), default=(0, False, "gone"))[2]


def _arrived(
    some: list[_Content], passing: Mapping[bytes, list[_Passing]], old: _Side, new: _Side
) -> _Told:
    """How findings began that appeared on a host without leaving another one. The first of their
    beginnings decides."""
    known = {mark for _host, mark in old}
    copies = grouped((one.fingerprint, (one.id, one.bound)) for one in new.values())
    for one in some:
        mark = one.fingerprint
        begun = [(each.id, each.opened_as) for each in passing.get(mark, ())]
        _id, first = min([*copies[mark], *begun])
        state = "moved" if mark in known else first
        yield one.id, "suppressed" if one.accepted else state


def _records(
    connection: Connection, pair: AuditPair, told: Mapping[int, str]
) -> Iterator[FindingRecord]:
    f = finding.c
    columns = (problem.c[name] for name in _Problem._fields)
    query = select(f.id, f.host, *columns, f.subject, f.uuid, f.mac, f.fingerprint, f.first_seen)
    query = query.add_columns(f.reopened).join(problem, problem.c.id == f.problem)
    for some in chunks(list(told)):
        for number, host, *values in connection.execute(query.where(f.id.in_(some))):
            yield finding_record(told[number], (*pair.names[host], *values))


_NAMED = 10
"""Maximum rules named in a note."""
_AS_LAST_READ = "compared as last read"


def drift_between(database: Database, before: str, after: str) -> Drift:
    """The differences between two audits, named by id, date, or as ``latest`` or ``previous``.
    Raises UsageError."""
    with database.reading() as connection:
        first = number_of(connection, before, database)
        second = number_of(connection, after, database)
        if first >= second:
            raise UsageError(
                f"{before} is not earlier than {after}: name the earlier audit first; `vnicaudit "
                "history` lists them"
            )
        pair, notes = _common(connection, first, second)
        return Drift(
            before=audit_name(connection, first),
            after=audit_name(connection, second),
            hosts=len(pair.hosts),
            rules=len(pair.rules),
            notes=tuple(notes),
            nics=tuple(nic_drift(connection, pair)),
            findings=tuple(finding_drift(connection, pair)),
        )


def _common(connection: Connection, before: int, after: int) -> tuple[AuditPair, list[str]]:
    """The part that both audits covered, and notes on what only one of them covered."""
    hosts = [_read(connection, number) for number in (before, after)]
    rules = [_rules(connection, number) for number in (before, after)]
    notes = []
    if apart := hosts[0] ^ hosts[1]:
        notes.append(f"{count(len(apart), 'host')} read by only one of them: not compared")
    if only := rules[0] ^ rules[1]:
        more = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
        named = ", ".join(sorted(only)[:_NAMED])
        notes.append(f"run by only one of them, not compared: {named}{more}")
    for number, word in ((before, "first"), (after, "second")):
        notes += _incomplete(connection, number, f"the {word} audit", hosts[0] & hosts[1])
    names = host_names(connection)
    return AuditPair(before, after, hosts[0] & hosts[1], rules[0] & rules[1], names), notes


def _incomplete(
    connection: Connection, number: int, name: str, hosts: frozenset[int]
) -> Iterator[str]:
    """Notes on what an audit did not read of the compared hosts."""
    query = select(basis.c.nic_share).join(audit, audit.c.basis == basis.c.id)
    share = connection.execute(query.where(audit.c.number == number)).scalar()
    if share is not None and share < 1:
        yield f"{name} read a sample of {share:.0%} of the NICs: the others are {_AS_LAST_READ}"
    r = reading.c
    in_part = select(r.host).where(r.audit == number, r.status == "partial")
    partial = hosts.intersection(connection.execute(in_part).scalars())
    if partial:
        text = f"{name} read {count(len(partial), 'host')} only in part: the rest is"
        yield f"{text} {_AS_LAST_READ}"


def _read(connection: Connection, number: int) -> frozenset[int]:
    query = select(reading.c.host).where(reading.c.audit == number, WAS_READ)
    return frozenset(connection.execute(query).scalars())


def _rules(connection: Connection, number: int) -> frozenset[str]:
    here = audit.c.number == number
    query = select(basis_rule.c.rule).join(audit, audit.c.basis == basis_rule.c.basis).where(here)
    return frozenset(connection.execute(query).scalars())
