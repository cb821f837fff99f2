"""The last reading of each host, and the findings that were open after it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from vnicaudit.history.hosts import chunks
from vnicaudit.history.rows import fingerprint_bytes, stored_bytes, time_text
from vnicaudit.history.tables import audit, basis_rule, finding, host, reading
from vnicaudit.model.ranking import LastReading, LastReadings, OpenMark

_AT_ONCE = 5_000
"""Findings fetched at once."""


class _ReadHost(NamedTuple):
    """``basis``: of the reading; None: the reading did not cover the whole host."""

    name: str
    read_at: int
    domains: int
    nics: int
    basis: int | None


class _OpenFinding(NamedTuple):
    host: int
    mark: bytes
    first_seen: int
    accepted: int


def last_readings(
    connection: Connection, hosts: Collection[str], fingerprints: Collection[str]
) -> LastReadings:
    """The last readings of these hosts, and the marks of these findings. It takes a few statements,
    plus one for each 500 hosts and each 500 findings not found on them."""
    read = dict(_hosts(connection, hosts))
    wanted = {fingerprint_bytes(one): one for one in fingerprints}
    counts: Counter[int] = Counter()
    found: dict[bytes, list[_OpenFinding]] = defaultdict(list)
    for numbers in chunks(sorted(read)):
        for one in _open(connection, finding.c.host.in_(numbers)):
            counts[one.host] += not one.accepted
            if one.mark in wanted:
                found[one.mark].append(one)
    for marks in chunks(sorted(wanted.keys() - found.keys())):  # guests that were elsewhere
        for one in _open(connection, finding.c.fingerprint.in_(marks)):
            found[one.mark].append(one)
    rules = _rules(connection, {one.basis for one in read.values() if one.basis is not None})
    return LastReadings(
        {one.name: _reading(one, counts[number], rules) for number, one in read.items()},
        {wanted[mark]: tuple(_mark(one, read) for one in some) for mark, some in found.items()},
    )


def _hosts(connection: Connection, names: Collection[str]) -> Iterator[tuple[int, _ReadHost]]:
    """The hosts that were ever read, by number."""
    h, r = host.c, reading.c
    query = (
        select(h.id, h.name, r.read_at, r.domains, r.nics, audit.c.basis, h.read, h.whole)
        .join(reading, (r.audit == h.read) & (r.host == h.id))
        .join(audit, audit.c.number == h.read)
    )
    for some in chunks(sorted(names)):
        for row in connection.execute(query.where(h.name.in_(some))):
            number, name, at, domains, nics, basis, read, whole = row
            yield number, _ReadHost(name, at, domains, nics, basis if read == whole else None)


def _open(connection: Connection, condition: ColumnElement[bool]) -> Iterator[_OpenFinding]:
    f = finding.c
    query = select(f.host, f.fingerprint, f.first_seen, f.accepted).where(f.closed.is_(None))
    streamed = query.where(condition).execution_options(yield_per=_AT_ONCE)
    for number, mark, seen, accepted in connection.execute(streamed):
        yield _OpenFinding(number, stored_bytes(mark), seen, accepted)


def _rules(connection: Connection, bases: Collection[int]) -> Mapping[int, frozenset[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for some in chunks(sorted(bases)):
        query = select(basis_rule.c.basis, basis_rule.c.rule).where(basis_rule.c.basis.in_(some))
        for number, rule in connection.execute(query):
            found[number].add(rule)
    return {number: frozenset(rules) for number, rules in found.items()}


def _reading(one: _ReadHost, findings: int, rules: Mapping[int, frozenset[str]]) -> LastReading:
    return LastReading(
        host=one.name,
        read_at=time_text(one.read_at),
        domains=int(one.domains),
        nics=int(one.nics),
        findings=findings,
        rules=frozenset() if one.basis is None else rules.get(one.basis, frozenset()),
    )


def _mark(one: _OpenFinding, read: Mapping[int, _ReadHost]) -> OpenMark:
    name = read[one.host].name if one.host in read else ""
    return OpenMark(name, time_text(one.first_seen), bool(one.accepted))
