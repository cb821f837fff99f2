"""Findings that differ between two audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from vnicaudit.history.drift_sides import (
    AT_ONCE,
    CHANGES,
    AuditPair,
    Course,
    Key,
    Pairing,
    courses,
    pairing,
)
from vnicaudit.history.known import chunks
from vnicaudit.history.records import finding_record
from vnicaudit.history.tables import finding, problem
from vnicaudit.model.history import FindingRecord

_MARK = 3
"""Place of the fingerprint among the columns of a finding that a record is made of."""


class _Problem(NamedTuple):
    rule: str
    name: str
    severity: str
    owner: str
    message: str


class _FindingContent(NamedTuple):
    """As few columns as tell whether something differs."""

    id: int
    host: int
    fingerprint: bytes
    problem: int
    accepted: int


class _FindingInterval(NamedTuple):
    """An interval that is in the report, and what names it. ``values``: what a record is made
    of."""

    key: Key
    opened_as: str
    closed_as: str
    values: tuple[object, ...]


def finding_drift(connection: Connection, pair: AuditPair) -> list[FindingRecord]:
    """The differences, sorted by state, rule, host and what they are about."""
    before = _contents(connection, pair, pair.held_before(finding))
    after = _contents(connection, pair, pair.held_after(finding))
    numbers = {one.problem for one in (*before, *after)}
    problems = _problems(connection, pair, sorted(numbers))
    paired = pairing(
        *(
            [(one.id, (one.host, one.fingerprint)) for one in some if one.problem in problems]
            for some in (before, after)
        )
    )
    changed = dict(_changed(paired, before, after, problems))
    told = _reported_intervals(
        connection, pair, problems, [*changed, *paired.only_before, *paired.only_after]
    )
    records = [finding_record(state, told[number].values) for number, state in changed.items()]
    records += _one_sided(connection, pair, paired, told)
    return sorted(records, key=_order)


def _order(one: FindingRecord) -> tuple[str, ...]:
    return one.state, one.rule, one.host, one.subject, one.mac or "", one.fingerprint


def _contents(
    connection: Connection, pair: AuditPair, holds: ColumnElement[bool]
) -> list[_FindingContent]:
    f = finding.c
    query = select(f.id, f.host, f.fingerprint, f.problem, f.accepted).where(holds)
    rows = chain.from_iterable(connection.execute(query).partitions(AT_ONCE))
    return [_FindingContent._make(row) for row in rows if row[1] in pair.hosts]


def _problems(connection: Connection, pair: AuditPair, ids: list[int]) -> dict[int, _Problem]:
    """Those of the rules that both audits asked."""
    p = problem.c
    query = select(p.id, p.rule, p.name, p.severity, p.owner, p.message)
    query = query.where(p.rule.in_(sorted(pair.rules)))
    return {
        number: _Problem._make(values)
        for some in chunks(ids)
        for number, *values in connection.execute(query.where(p.id.in_(some)))
    }


def _changed(
    paired: Pairing,
    before: list[_FindingContent],
    after: list[_FindingContent],
    problems: Mapping[int, _Problem],
) -> Iterator[tuple[int, str]]:
    """Intervals that began, and what changed with them."""
    old, new = ({one.id: one for one in some} for some in (before, after))
    for ended, begun in paired.changed.items():
        state = _change(old[ended], new[begun], problems)
        if state is not None:
            yield begun, state


def _change(
    old: _FindingContent, new: _FindingContent, problems: Mapping[int, _Problem]
) -> str | None:
    if bool(old.accepted) != bool(new.accepted):
        return "suppressed" if new.accepted else "unsuppressed"
    if old.problem == new.problem:
        return None
    was, now = problems[old.problem], problems[new.problem]
    return "changed" if (was.severity, was.message) != (now.severity, now.message) else None


def _reported_intervals(
    connection: Connection, pair: AuditPair, problems: Mapping[int, _Problem], ids: list[int]
) -> dict[int, _FindingInterval]:
    f = finding.c
    query = select(f.id, f.host, f.problem, f.opened_as, f.closed_as, f.subject, f.uuid, f.mac)
    query = query.add_columns(f.fingerprint, f.first_seen, f.reopened, f.accepted)
    found = {}
    for some in chunks(ids):
        rows = connection.execute(query.where(f.id.in_(some))).all()
        for number, host, what, opened_as, closed_as, *others in rows:
            values = (*pair.hosts[host], *problems[what], *others)
            found[number] = _FindingInterval(
                (host, others[_MARK]), opened_as, closed_as or "", values
            )
    return found


def _one_sided(
    connection: Connection, pair: AuditPair, paired: Pairing, told: Mapping[int, _FindingInterval]
) -> Iterator[FindingRecord]:
    """Findings that are at one of the audits alone; where one moved is told, not whence."""
    ended = {number: told[number] for number in paired.only_before}
    begun = {number: told[number] for number in paired.only_after}
    unclear = [one.key for one in ended.values() if one.closed_as in CHANGES]
    unclear += [one.key for one in begun.values() if one.opened_as in CHANGES]
    known = courses(connection, pair, finding.c.fingerprint, unclear)
    for one in ended.values():
        how = known.get(one.key, Course(ended_as=one.closed_as)).ended_as
        if how != "moved":
            yield finding_record(how, one.values)
    for one in begun.values():
        how = known.get(one.key, Course(began_as=one.opened_as)).began_as
        yield finding_record(how, one.values)
