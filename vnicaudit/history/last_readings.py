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


def last_readings(
    connection: Connection, hosts: Collection[str], fingerprints: Collection[str]
) -> LastReadings:
    """The last readings of these hosts, and the marks of these findings. It takes a few statements,
    plus one for each 500 hosts and each 500 findings not found on them."""
    read = dict(_hosts(connection, hosts))
    wanted = {fingerprint_bytes(one): one for one in fingerprints}
    counts: Counter[int] = Counter()
    found: dict[bytes, list[OpenMark]] = defaultdict(list)
    for numbers in chunks(sorted(read)):
        for number, mark, one in _open(connection, finding.c.host.in_(numbers), read):
            counts[number] += not one.is_accepted
            if mark in wanted:
                found[mark].append(one)
    for marks in chunks(sorted(wanted.keys() - found.keys())):  # guests that were elsewhere
        for _number, mark, one in _open(connection, finding.c.fingerprint.in_(marks), read):
            found[mark].append(one)
    rules = _rules(connection, {one.basis for one in read.values() if one.basis is not None})
    hosts = {
        one.name: LastReading(
            host=one.name,
            read_at=time_text(one.read_at),
            domains=int(one.domains),
            nics=int(one.nics),
            findings=counts[number],
            rules=frozenset() if one.basis is None else rules.get(one.basis, frozenset()),
        )
        for number, one in read.items()
    }
    return LastReadings(hosts, {wanted[mark]: tuple(some) for mark, some in found.items()})


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


def _open(
    connection: Connection, condition: ColumnElement[bool], read: Mapping[int, _ReadHost]
) -> Iterator[tuple[int, bytes, OpenMark]]:
    """Open findings: number of the host, fingerprint, and where it is open since when."""
    f = finding.c
    query = select(f.host, f.fingerprint, f.first_seen, f.accepted).where(f.closed.is_(None))
    streamed = query.where(condition).execution_options(yield_per=_AT_ONCE)
    for number, mark, seen, accepted in connection.execute(streamed):
        name = read[number].name if number in read else ""
        yield number, stored_bytes(mark), OpenMark(name, time_text(seen), bool(accepted))


def _rules(connection: Connection, bases: Collection[int]) -> Mapping[int, frozenset[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for some in chunks(sorted(bases)):
        query = select(basis_rule.c.basis, basis_rule.c.rule).where(basis_rule.c.basis.in_(some))
        for number, rule in connection.execute(query):
            found[number].add(rule)
    return {number: frozenset(rules) for number, rules in found.items()}
