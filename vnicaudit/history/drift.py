"""The differences between two audits, in the part that both covered.

NICs and findings are intervals: what differs between two audits began or ended between them. It is
compared host by host first; what is then on one side alone may have moved to another host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, or_, select

from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import audit_name, number_of
from vnicaudit.history.database import Database
from vnicaudit.history.hosts import CHANGES, chunks, nics_with
from vnicaudit.history.rows import (
    FindingInterval,
    NicColumns,
    finding_intervals,
    nic_key,
    uuid_text,
)
from vnicaudit.history.tables import (
    AT_ONCE,
    WAS_READ,
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
from vnicaudit.history.transitions import changed_values, grouped, matched
from vnicaudit.model.history import Drift, FindingRecord, NicRecord

_NAMED = 10
"""Maximum rules named in a note."""
_AS_LAST_READ = "compared as last read"


class _HostName(NamedTuple):
    """A host, and its site in the newest inventory."""

    name: str
    site: str


class _AuditPair(NamedTuple):
    """The numbers of two audits, and what both covered: numbers of hosts, and rules. ``names``: of
    all hosts."""

    before: int
    after: int
    hosts: frozenset[int]
    rules: frozenset[str]
    names: Mapping[int, _HostName]

    def changed(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that began or ended between the two audits."""
        first, last = self.before + 1, self.after
        return or_(table.c.opened.between(first, last), table.c.closed.between(first, last))

    def holds(self, at: int, opened: int, closed: int | None) -> bool:
        """True if an interval was open at that audit."""
        return opened <= at and (closed is None or closed > at)

    def order(self, host: int) -> tuple[bool, str]:
        """Sort key for hosts: compared ones first, then by name."""
        return host not in self.hosts, self.names[host].name


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
            nics=tuple(_nic_drift(connection, pair)),
            findings=tuple(_finding_drift(connection, pair)),
        )


def _common(connection: Connection, before: int, after: int) -> tuple[_AuditPair, list[str]]:
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
    here = and_(inventory.c.host == host.c.id, inventory.c.closed.is_(None))
    query = select(host.c.id, host.c.name, func.coalesce(inventory.c.site, ""))
    listed = connection.execute(query.outerjoin(inventory, here))
    names = {number: _HostName(name, site) for number, name, site in listed}
    return _AuditPair(before, after, hosts[0] & hosts[1], rules[0] & rules[1], names), notes


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


# NICs. Several NICs of a guest may have one key: equal states are paired first.


Changes = dict[str, tuple[str | int | None, str | int | None]]


class _StoredNic(NamedTuple):
    """A NIC on a host, while it was in one state."""

    id: int
    host: int
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None
    facts: NicColumns


def _nic_drift(connection: Connection, pair: _AuditPair) -> list[NicRecord]:
    """The differences, sorted by state, host, domain and MAC address."""
    n = nic.c
    changed = select(n.uuid, n.domain, n.mac).where(pair.changed(nic)).distinct()
    keys = {nic_key(*row) for row in connection.execute(changed)}
    records: list[NicRecord] = []
    for some in nics_with(keys):
        rows = _nics(connection, and_(n.opened <= pair.after, some))
        for key, intervals in grouped((one.facts.key, one) for one in rows).items():
            if key in keys:
                records += _of_key(pair, intervals)
    return sorted(records, key=lambda one: (one.state, one.host, one.domain, one.mac or ""))


def _of_key(pair: _AuditPair, intervals: Sequence[_StoredNic]) -> Iterator[NicRecord]:
    """The differences of the NICs with one key. ``intervals``: all up to the second audit."""
    for was, now in _pairs(pair, intervals):
        if was is not None and now is not None:
            if was.host != now.host:
                if was.host in pair.hosts or now.host in pair.hosts:
                    yield _moved(pair, was, now)
            elif was.host in pair.hosts and was.facts.state != now.facts.state:
                yield _nic_record("changed", pair, now, _changes(was.facts, now.facts))
        elif was is not None and was.host in pair.hosts:
            there = None if was.facts.mac is None else _elsewhere(pair, intervals, was, pair.after)
            yield _nic_record("gone", pair, was) if there is None else _moved(pair, was, there)
        elif now is not None and now.host in pair.hosts:
            stayed = {
                one.host for one in intervals if pair.holds(pair.after, one.opened, one.closed)
            }
            others = [one for one in intervals if one.host not in stayed]
            before = _elsewhere(pair, others, now, pair.before)
            if before is not None:
                yield _moved(pair, before, now)
            else:
                yield _nic_record(_nic_origin(intervals, pair), pair, now)


def _nics(connection: Connection, condition: ColumnElement[bool]) -> Iterator[_StoredNic]:
    """The intervals that match the condition, oldest first."""
    n = nic.c
    query = select(n.id, n.host, n.opened, n.opened_as, n.closed, n.closed_as).where(condition)
    query = query.add_columns(*(n[name] for name in NicColumns._fields)).order_by(n.id)
    for some in connection.execute(query).partitions(AT_ONCE):
        for row in some:
            yield _StoredNic(*row[:6], NicColumns._make(row[6:]))


def _pairs(
    pair: _AuditPair, intervals: Sequence[_StoredNic]
) -> Iterator[tuple[_StoredNic | None, _StoredNic | None]]:
    """NICs of one key at the first audit, each with itself at the second: on the same host, or on
    another one; None: nowhere."""
    in_order = sorted(
        intervals, key=lambda one: (pair.order(one.host), one.facts.nic_index, one.id)
    )
    sides = [
        grouped(
            (one.host, (one.facts.state, one))
            for one in in_order
            if pair.holds(at, one.opened, one.closed)
        )
        for at in (pair.before, pair.after)
    ]
    ended, begun = [], []
    for number in dict.fromkeys(one.host for one in in_order):
        for was, now in matched(*(side.get(number, ()) for side in sides)):
            if was is None or now is None:
                ended += [] if was is None else [(was.facts.state, was)]
                begun += [] if now is None else [(now.facts.state, now)]
            else:
                yield was, now
    yield from matched(ended, begun)


def _elsewhere(
    pair: _AuditPair, intervals: Iterable[_StoredNic], nic: _StoredNic, at: int
) -> _StoredNic | None:
    """The interval that existed on another host at that audit, the first by the host's name."""
    there = [
        one for one in intervals if one.host != nic.host and pair.holds(at, one.opened, one.closed)
    ]
    return min(there, key=lambda one: (pair.names[one.host].name, one.id), default=None)


def _nic_origin(intervals: Sequence[_StoredNic], pair: _AuditPair) -> str:
    """The state of a NIC that was nowhere at the first audit, or had fewer with the same key
    there."""
    known = [one for one in intervals if one.opened <= pair.before]
    if not known:  # never before, or since removed from the history
        return intervals[0].opened_as
    ends = [one for one in known if one.closed and one.closed <= pair.before]
    return "returned" if any(one.closed_as not in CHANGES for one in ends) else "new"


def _moved(pair: _AuditPair, old: _StoredNic, new: _StoredNic) -> NicRecord:
    """A record for a moved NIC: at its current host, with both hosts among the changes."""
    names = (pair.names[old.host].name, pair.names[new.host].name)
    return _nic_record("moved", pair, new, {"host": names, **_changes(old.facts, new.facts)})


def _changes(old: NicColumns, new: NicColumns) -> Changes:
    return {
        name: (
            uuid_text(was) if isinstance(was, bytes) else was,
            uuid_text(now) if isinstance(now, bytes) else now,
        )
        for name, (was, now) in changed_values(old, new).items()
    }


def _nic_record(
    state: str, pair: _AuditPair, nic: _StoredNic, changes: Changes | None = None
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


# Findings.


_ENDS = ("fixed", "gone")
_Told = Iterator[tuple[str, FindingInterval]]
"""Findings to report, each with its state."""


def _finding_drift(connection: Connection, pair: _AuditPair) -> list[FindingRecord]:
    """The differences, sorted by state, rule, host and subject."""
    f = finding.c
    both = problem.c.rule.in_(sorted(pair.rules))
    changed = select(f.fingerprint).join(problem, problem.c.id == f.problem).distinct()
    marks = connection.execute(changed.where(pair.changed(finding), both)).scalars().all()
    told: dict[int, FindingRecord] = {}
    for some in chunks(marks):
        known = and_(f.opened <= pair.after, both, f.fingerprint.in_(some))
        rows = finding_intervals(connection, known, f.fingerprint, f.id)
        for intervals in grouped((one.fingerprint, one) for one in rows).values():
            for state, one in _states(pair, intervals):
                told.setdefault(one.id, one.record(state))
    return sorted(told.values(), key=_order)


def _order(one: FindingRecord) -> tuple[str, ...]:
    return one.state, one.rule, one.host, one.subject, one.mac or "", one.fingerprint


def _states(pair: _AuditPair, intervals: Sequence[FindingInterval]) -> _Told:
    """The states of one finding on the hosts that have, or had it: first where it is in both
    audits, then where it moved, then where it is in one of them alone."""
    in_order = sorted(intervals, key=lambda one: (pair.order(one.host), one.id))
    old, new = (
        {one.host: one for one in in_order if pair.holds(at, one.opened, one.closed)}
        for at in (pair.before, pair.after)
    )
    for number, now in new.items():
        was = old.get(number)
        if was is not None and number in pair.hosts:
            state = _acceptance(was, now) or _wording(was, now)
            if state is not None:
                yield state, now
    left = [one for number, one in old.items() if number not in new]
    came = [one for number, one in new.items() if number not in old]
    moves = list(zip(left, came, strict=False))
    for was, now in moves:
        if was.host in pair.hosts or now.host in pair.hosts:
            yield _acceptance(was, now) or "moved", now
    for one in left[len(moves) :]:
        if one.host in pair.hosts:
            end = _end(pair, one, intervals, new)
            other = min(new.values(), key=lambda one: pair.names[one.host].name, default=one)
            yield ("moved", other) if end == "gone" and new else (end, one)
    begun = [(one.id, one.opened_as) for one in intervals
             if one.opened > pair.before and one.opened_as not in (*CHANGES, "moved")]  # fmt: skip
    for one in came[len(moves) :]:
        if one.host in pair.hosts:
            origin = "moved" if left else min(begun, default=(0, "new"))[1]
            yield "suppressed" if one.accepted else origin, one


def _acceptance(old: FindingInterval, new: FindingInterval) -> str | None:
    if bool(old.accepted) == bool(new.accepted):
        return None
    return "suppressed" if new.accepted else "unsuppressed"


def _wording(old: FindingInterval, new: FindingInterval) -> str | None:
    was, now = old.record("changed"), new.record("changed")
    return "changed" if (was.severity, was.message) != (now.severity, now.message) else None


def _end(
    pair: _AuditPair,
    one: FindingInterval,
    intervals: Iterable[FindingInterval],
    new: Mapping[int, FindingInterval],
) -> str:
    """How a finding ended that is not on its host now: there, or on a host that it had moved to."""
    last: dict[int, tuple[int, bool, str]] = {}
    for each in intervals:
        if each.closed is not None and each.closed > pair.before and each.host not in new:
            end = (each.closed, each.host == one.host, each.closed_as or "")
            last[each.host] = max(last.get(each.host, end), end)
    return max((end for end in last.values() if end[2] in _ENDS), default=(0, False, "gone"))[2]
