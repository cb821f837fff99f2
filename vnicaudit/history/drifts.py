"""The differences between two audits, in the part that both looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, func, or_, select

from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import number_of
from vnicaudit.history.database import Database
from vnicaudit.history.known import chunks
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


class _SeenInterval(NamedTuple):
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None
    host: int


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
        notes.append(f"run by only one of them, not compared: {', '.join(sorted(only))}")
    for number, word in ((before, "first"), (after, "second")):
        query = select(basis.c.nic_share).join(audit, audit.c.basis == basis.c.id)
        share = connection.execute(query.where(audit.c.number == number)).scalar()
        if share is not None and share < 1:
            text = f"the {word} audit read a sample of {share:.0%} of the NICs: the others are "
            notes.append(f"{text}compared as last read")
    return _Pair(before, after, hosts[0] & hosts[1], rules[0] & rules[1]), notes


def _read(connection: Connection, number: int) -> frozenset[int]:
    r = reading.c
    query = select(r.host).where(r.audit == number, r.status != "failed", r.late == 0)
    return frozenset(connection.execute(query).scalars())


def _rules(connection: Connection, number: int) -> frozenset[str]:
    here = audit.c.number == number
    query = select(basis_rule.c.rule).join(audit, audit.c.basis == basis_rule.c.basis).where(here)
    return frozenset(connection.execute(query).scalars())


def _differs(table: Table, pair: _Pair) -> ColumnElement[bool]:
    """Rows that hold at one of the audits, and not at the other."""
    begun = table.c.opened.between(pair.before + 1, pair.after)
    ended = table.c.closed.between(pair.before + 1, pair.after)
    at_after = or_(table.c.closed.is_(None), table.c.closed > pair.after)
    return or_(and_(begun, at_after), and_(ended, table.c.opened <= pair.before))


def _interval_columns(table: Table) -> list[ColumnElement[object]]:
    c = table.c
    return [c.opened, c.opened_as, c.closed, c.closed_as, c.host]


class _Course(NamedTuple):
    """How something that holds at the second audit began, and how something that held at the first
    one ended: changes in between are neither."""

    began_as: str = ""
    ended_as: str = ""


class _Sides(NamedTuple):
    """One thing at both audits, its interval and its values."""

    before: tuple[_SeenInterval, Sequence[object]] | None = None
    after: tuple[_SeenInterval, Sequence[object]] | None = None

    @property
    def course(self) -> _Course:
        """As its intervals tell it."""
        began = self.after[0].opened_as if self.after else ""
        return _Course(began, (self.before[0].closed_as or "") if self.before else "")

    @property
    def has_more(self) -> bool:
        """True where it changed before it ended, or after it began: there is more in between."""
        is_one = (self.before is None) != (self.after is None)
        return is_one and bool(_CHANGES & set(self.course))


_CHANGES = {"changed", "suppressed", "unsuppressed"}
Key = tuple[int, object]
"""The host, and what tells things of it apart."""


def _sides(
    rows: Iterator[tuple[object, _SeenInterval, Sequence[object]]], pair: _Pair
) -> dict[Key, _Sides]:
    """The NICs or findings that differ between the two audits, by key."""
    things: dict[Key, _Sides] = {}
    for thing, interval, values in rows:
        if interval.host in pair.hosts:
            key = (interval.host, thing)
            had = things.get(key, _Sides())
            one = (interval, values)
            before = interval.opened <= pair.before
            things[key] = had._replace(before=one) if before else had._replace(after=one)
    return things


def _courses(
    connection: Connection, pair: _Pair, column: Column[bytes] | Column[str], keys: Sequence[Key]
) -> dict[Key, _Course]:
    """How these began and ended; the second part of a key is a value of that column."""
    c = column.table.c
    query = select(c.host, column, c.opened, c.opened_as, c.closed, c.closed_as).order_by(c.id)
    found: dict[Key, _Course] = {}
    for some in chunks([value for _host, value in keys]):
        for number, value, opened, began, closed, ended in connection.execute(
            query.where(column.in_(some))
        ):
            had = found.get((number, value), _Course())
            if opened <= pair.after and began not in _CHANGES:
                had = had._replace(began_as=began)
            is_end = closed is not None and closed > pair.before and ended not in _CHANGES
            if is_end and not had.ended_as:
                had = had._replace(ended_as=ended)
            found[(number, value)] = had
    return found


def _findings(connection: Connection, pair: _Pair) -> list[FindingRecord]:
    f = finding.c
    query = (
        select(*_interval_columns(finding), f.fingerprint, *finding_columns())
        .join(problem, problem.c.id == f.problem)
        .join(host, host.c.id == f.host)
        .outerjoin(inventory, (inventory.c.host == f.host) & inventory.c.closed.is_(None))
        .where(_differs(finding, pair), problem.c.rule.in_(sorted(pair.rules)))
    )
    rows = ((row[5], _SeenInterval._make(row[:5]), row[6:]) for row in connection.execute(query))
    sides = _sides(rows, pair)
    unclear = [key for key, each in sides.items() if each.has_more]
    courses = _courses(connection, pair, f.fingerprint, unclear)
    found = [
        one
        for key, each in sides.items()
        for one in _finding_drift(each, courses.get(key, each.course))
    ]
    return sorted(
        found, key=lambda one: (one.state, one.rule, one.host, one.subject, one.mac or "")
    )


def _finding_order(one: FindingRecord) -> tuple[str, ...]:
    return one.state, one.rule, one.host, one.subject, one.mac or "", one.fingerprint


def _finding_drift(sides: _Sides, course: _Course) -> Iterator[FindingRecord]:
    before, after = sides.before and sides.before[1], sides.after and sides.after[1]
    if after is None and before is not None:
        if course.ended_as != "moved":  # it is told where it went
            yield finding_record(course.ended_as, before)
    elif before is None and after is not None:
        yield finding_record(course.began_as, after)
    elif before is not None and after is not None:
        old, new = finding_record("known", before), finding_record("known", after)
        accepted = bool(before[-1]), bool(after[-1])
        if accepted[0] != accepted[1]:
            yield finding_record("suppressed" if accepted[1] else "unsuppressed", after)
        elif (old.severity, old.message) != (new.severity, new.message):
            yield finding_record("changed", after)


def _nics(connection: Connection, pair: _Pair) -> list[NicRecord]:
    n = nic.c
    columns = [n[name] for name in NicFacts._fields]
    query = (
        select(*_interval_columns(nic), host.c.name, func.coalesce(inventory.c.site, ""), *columns)
        .join(host, host.c.id == n.host)
        .outerjoin(inventory, (inventory.c.host == n.host) & inventory.c.closed.is_(None))
        .where(_differs(nic, pair))
    )
    rows = (
        (nic_key(NicFacts._make(row[7:])), _SeenInterval._make(row[:5]), row[5:])
        for row in connection.execute(query)
    )
    sides = list(_sides(rows, pair).values())
    unclear = [_host_and_mac(each) for each in sides if each.has_more]
    courses = _courses(connection, pair, n.mac, unclear)
    found = [
        one
        for each in sides
        for one in _nic_drift(each, courses.get(_host_and_mac(each), each.course))
    ]
    return sorted(found, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _host_and_mac(sides: _Sides) -> Key:
    for interval, values in filter(None, sides):
        return interval.host, NicFacts._make(values[2:]).mac
    return 0, None


def _nic_drift(sides: _Sides, course: _Course) -> Iterator[NicRecord]:
    before = _nic_side(sides.before and sides.before[1])
    after = _nic_side(sides.after and sides.after[1])
    if before is None and after is not None:
        yield _nic_record(course.began_as, *after)
    elif after is None and before is not None and course.ended_as != "moved":
        yield _nic_record(course.ended_as, *before)
    elif before is not None and after is not None:
        old, new = before[2], after[2]
        changes = {
            name: (_plain_value(getattr(old, name)), _plain_value(getattr(new, name)))
            for name in changed_columns(old, new)
        }
        if changes:
            yield _nic_record("changed", *after, changes)


def _nic_side(values: Sequence[object] | None) -> tuple[str, str, NicFacts] | None:
    if values is None:
        return None
    name, site, *facts = values
    return str(name), str(site), NicFacts._make(facts)


def _plain_value(value: str | int | bytes | None) -> str | int | None:
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
