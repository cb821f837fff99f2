"""The differences between two audits, in the part that both looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, or_, select

from vnicaudit.base.counting import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import number_of
from vnicaudit.history.database import Database
from vnicaudit.history.records import finding_columns, finding_record
from vnicaudit.history.rows import NicFacts, time_text, uuid_text
from vnicaudit.history.tables import (
    audit,
    basis,
    basis_rule,
    finding,
    host,
    inventory,
    nic,
    problem,
    reading,
)
from vnicaudit.history.transitions import changed_columns, nic_key
from vnicaudit.model.history import Drift, DriftSide, FindingRecord, NicRecord


class _Pair(NamedTuple):
    """The audits' numbers, and what both looked at."""

    before: int
    after: int
    hosts: frozenset[int]
    rules: frozenset[str]


class _Interval(NamedTuple):
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None
    host: int

    def holds(self, number: int) -> bool:
        return self.opened <= number and (self.closed is None or self.closed > number)


def drift_between(database: Database, before: str, after: str) -> Drift:
    """The differences between two audits, named by id, date, or as ``latest`` or ``previous``.
    Raises UsageError."""
    with database.reading() as connection:
        first = number_of(connection, before, database)
        second = number_of(connection, after, database)
        if first >= second:
            raise UsageError(
                f"{before} is no audit before {after}: name the earlier one first; `vnicaudit "
                "history` lists them"
            )
        pair, notes = _common(connection, first, second)
        return Drift(
            before=_side(connection, first),
            after=_side(connection, second),
            hosts=len(pair.hosts),
            rules=len(pair.rules),
            notes=tuple(notes),
            nics=tuple(_nics(connection, pair)),
            findings=tuple(_findings(connection, pair)),
        )


def _side(connection: Connection, number: int) -> DriftSide:
    query = select(audit.c.id, audit.c.started).where(audit.c.number == number)
    name, started = connection.execute(query).one()
    return DriftSide(name, time_text(started))


def _common(connection: Connection, before: int, after: int) -> tuple[_Pair, list[str]]:
    """The part that both audits looked at, and notes on what only one did."""
    hosts = [_read(connection, number) for number in (before, after)]
    rules = [_rules(connection, number) for number in (before, after)]
    notes = []
    if apart := hosts[0] ^ hosts[1]:
        notes.append(f"{count(len(apart), 'host')} read by only one of them: not compared")
    if only := rules[0] ^ rules[1]:
        notes.append(f"asked by only one of them, not compared: {', '.join(sorted(only))}")
    for number, word in ((before, "first"), (after, "second")):
        query = select(basis.c.nic_share).join(audit, audit.c.basis == basis.c.id)
        share = connection.execute(query.where(audit.c.number == number)).scalar()
        if share is not None and share < 1:
            text = f"the {word} audit looked at a sample of {share:.0%} of the NICs: what it did "
            notes.append(f"{text}not look at is taken as it was known")
    return _Pair(before, after, hosts[0] & hosts[1], rules[0] & rules[1]), notes


def _read(connection: Connection, number: int) -> frozenset[int]:
    r = reading.c
    query = select(r.host).where(r.audit == number, r.status != "failed", r.late == 0)
    return frozenset(connection.execute(query).scalars())


def _rules(connection: Connection, number: int) -> frozenset[str]:
    here = audit.c.number == number
    query = select(basis_rule.c.rule).join(audit, audit.c.basis == basis_rule.c.basis).where(here)
    return frozenset(connection.execute(query).scalars())


def _between(table: Table, pair: _Pair) -> ColumnElement[bool]:
    """Rows that began or ended after the first audit and up to the second."""
    begun = table.c.opened.between(pair.before + 1, pair.after)
    return or_(begun, table.c.closed.between(pair.before + 1, pair.after))


def _interval_columns(table: Table) -> list[ColumnElement[object]]:
    c = table.c
    return [c.opened, c.opened_as, c.closed, c.closed_as, c.host]


class _Sides(NamedTuple):
    """What one thing was at both audits, and how it began and ended in between."""

    before: Sequence[object] | None
    after: Sequence[object] | None
    began_as: str
    ended_as: str


def _sides(
    rows: Iterator[tuple[object, _Interval, Sequence[object]]], pair: _Pair
) -> Iterator[_Sides]:
    """One for each thing that is not what it was. Rows are in the order of their beginning."""
    things: dict[object, list[tuple[_Interval, Sequence[object]]]] = {}
    for key, interval, values in rows:
        if interval.host in pair.hosts:
            things.setdefault(key, []).append((interval, values))
    for intervals in things.values():
        before = [values for one, values in intervals if one.holds(pair.before)]
        after = [values for one, values in intervals if one.holds(pair.after)]
        began = [one.opened_as for one, _values in intervals if one.opened > pair.before]
        ended = [one.closed_as or "" for one, _values in intervals]
        if before or after:
            yield _Sides(
                before[0] if before else None,
                after[-1] if after else None,
                began[0] if began else "",
                ended[-1],
            )


def _findings(connection: Connection, pair: _Pair) -> list[FindingRecord]:
    f = finding.c
    query = (
        select(*_interval_columns(finding), f.fingerprint, *finding_columns())
        .join(problem, problem.c.id == f.problem)
        .join(host, host.c.id == f.host)
        .outerjoin(inventory, (inventory.c.host == f.host) & inventory.c.closed.is_(None))
        .where(_between(finding, pair), problem.c.rule.in_(sorted(pair.rules)))
        .order_by(f.id)
    )
    rows = (
        ((row[4], row[5]), _Interval._make(row[:5]), row[6:]) for row in connection.execute(query)
    )
    found = [one for sides in _sides(rows, pair) for one in _finding_drift(sides)]
    return sorted(
        found, key=lambda one: (one.state, one.rule, one.host, one.subject, one.mac or "")
    )


def _finding_drift(sides: _Sides) -> Iterator[FindingRecord]:
    if sides.after is None and sides.before is not None:
        if sides.ended_as != "moved":  # it is told where it went
            yield finding_record(sides.ended_as, sides.before)
    elif sides.before is None and sides.after is not None:
        yield finding_record(sides.began_as, sides.after)
    elif sides.before is not None and sides.after is not None:
        old, new = finding_record("known", sides.before), finding_record("known", sides.after)
        accepted = bool(sides.before[-1]), bool(sides.after[-1])
        if accepted[0] != accepted[1]:
            yield finding_record("suppressed" if accepted[1] else "unsuppressed", sides.after)
        elif (old.severity, old.message) != (new.severity, new.message):
            yield finding_record("changed", sides.after)


def _nics(connection: Connection, pair: _Pair) -> list[NicRecord]:
    n = nic.c
    columns = [n[name] for name in NicFacts._fields]
    query = (
        select(*_interval_columns(nic), host.c.name, func.coalesce(inventory.c.site, ""), *columns)
        .join(host, host.c.id == n.host)
        .outerjoin(inventory, (inventory.c.host == n.host) & inventory.c.closed.is_(None))
        .where(_between(nic, pair))
        .order_by(n.id)
    )
    rows = (
        ((row[4], nic_key(NicFacts._make(row[7:]))), _Interval._make(row[:5]), row[5:])
        for row in connection.execute(query)
    )
    found = [one for sides in _sides(rows, pair) for one in _nic_drift(sides)]
    return sorted(found, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _nic_drift(sides: _Sides) -> Iterator[NicRecord]:
    before, after = _nic_side(sides.before), _nic_side(sides.after)
    if before is None and after is not None:
        yield _nic_record(sides.began_as, *after)
    elif after is None and before is not None and sides.ended_as != "moved":
        yield _nic_record(sides.ended_as, *before)
    elif before is not None and after is not None:
        old, new = before[2], after[2]
        changes = {
            name: (_shown(getattr(old, name)), _shown(getattr(new, name)))
            for name in changed_columns(old, new)
        }
        if changes:
            yield _nic_record("changed", *after, changes)


def _nic_side(values: Sequence[object] | None) -> tuple[str, str, NicFacts] | None:
    if values is None:
        return None
    name, site, *facts = values
    return str(name), str(site), NicFacts._make(facts)


def _shown(value: str | int | bytes | None) -> str | int | None:
    return uuid_text(value) if isinstance(value, (bytes, memoryview)) else value


Changes = dict[str, tuple[str | int | None, str | int | None]]


def _nic_record(
    state: str, name: str, site: str, facts: NicFacts, changes: Changes | None = None
) -> NicRecord:
    return NicRecord(
        state=state,
        host=name,
        site=site,
        domain=facts.domain,
        uuid=uuid_text(facts.uuid),
        mac=facts.mac,
        model=facts.model,
        changes=changes or {},
    )
