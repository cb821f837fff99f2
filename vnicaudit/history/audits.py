"""The audits of a history: lists them, finds them by name, and shows what each changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta, timezone

from sqlalchemy import ColumnElement, Connection, func, literal, or_, select

from vnicaudit.base.deadlines import moment
from vnicaudit.errors import UsageError
from vnicaudit.history.database import Database
from vnicaudit.history.records import finding_intervals
from vnicaudit.history.rows import milliseconds, time_text
from vnicaudit.history.tables import (
    SCHEMA,
    WAS_READ,
    audit,
    basis,
    basis_rule,
    finding,
    host,
    inventory,
    problem,
    reading,
    tally,
)
from vnicaudit.model.history import (
    AuditDetails,
    AuditName,
    AuditSummary,
    FindingRecord,
    HistoryStatus,
    StaleHost,
)

_COUNTS = ("open", "stale", "accepted", "new", "reopened", "fixed", "gone")
_HOSTS = ("hosts", "chosen", "ok", "partial", "failed", "unchanged", "domains", "nics")
_FIELDS = ("hosts", "hosts_to_read", *_HOSTS[2:], *_COUNTS)
"""Fields of a summary: one for each of the columns ``_HOSTS`` and ``_COUNTS``."""
LATEST, PREVIOUS = "latest", "previous"


def summaries(
    connection: Connection, *conditions: ColumnElement[bool], most: int | None = None
) -> list[AuditSummary]:
    """The audits that match these conditions, newest first."""
    a = audit.c
    counts = [func.sum(tally.c[name]).label(f"n_{name}") for name in _COUNTS]
    sums = select(tally.c.audit, *counts).group_by(tally.c.audit).subquery()
    rules = select(func.count()).where(basis_rule.c.basis == a.basis).scalar_subquery()
    query = (
        select(a.id, a.started, a.finished, basis.c.version, rules, a.limit_pattern, a.host_share)
        .add_columns(basis.c.nic_share, *(a[name] for name in _HOSTS))
        .add_columns(*(func.coalesce(sums.c[f"n_{name}"], 0) for name in _COUNTS))
        .join(basis, basis.c.id == a.basis)
        .outerjoin(sums, sums.c.audit == a.number)
        .where(*conditions)
        .order_by(a.number.desc())
        .limit(most)
    )
    found = []
    for name, started, ended, version, used, limit, share, nics, *numbers in connection.execute(
        query
    ):
        one = AuditSummary(
            id=name, started=time_text(started), finished=_time(ended), version=version,
            rules=used, limit=limit, host_share=share, nic_share=nics,
            **dict(zip(_FIELDS, map(int, numbers), strict=True)),
        )  # fmt: skip
        found.append(one)
    return found


def status_of(database: Database, most: int | None) -> HistoryStatus:
    """The current state of the history. ``most``: number of audits to include; None: all."""
    with database.reading() as connection:
        here = inventory.c.closed.is_(None)
        listed = select(host.c.id).join(inventory, inventory.c.host == host.c.id).where(here)
        never = connection.execute(listed.where(host.c.read.is_(None))).fetchall()
        last = (reading.c.audit == host.c.read) & (reading.c.host == host.c.id)
        oldest = select(func.min(reading.c.read_at)).join(host, last).where(host.c.id.in_(listed))
        return HistoryStatus(
            place=database.place.label,
            tables=str(SCHEMA),
            bytes=_size(connection, database),
            hosts=len(connection.execute(listed).fetchall()),
            never_read=len(never),
            oldest=_time(connection.execute(oldest).scalar()),
            stale=tuple(_stale(connection)),
            audits=tuple(summaries(connection, most=most)),
        )


def _size(connection: Connection, database: Database) -> int:
    if not database.is_sqlite:
        query = "SELECT pg_database_size(current_database())"
        return int(connection.exec_driver_sql(query).scalar() or 0)
    sizes = (f"{database.place.target}{end}" for end in ("", "-wal"))
    return sum(os.path.getsize(one) for one in sizes if os.path.exists(one))


def _stale(connection: Connection, number: int | None = None) -> list[StaleHost]:
    """Hosts of the inventory whose last try failed; with ``number``, hosts that this audit did not
    read."""
    tried, last = reading.alias(), reading.alias()
    h, i = host.c, inventory.c
    at: ColumnElement[int] = h.tried
    known: ColumnElement[int] = h.read
    if number is not None:
        r = reading.c
        before = select(func.max(r.audit)).where(r.host == h.id, r.audit < number)
        at = literal(number)
        known = before.where(WAS_READ).scalar_subquery()
    query = (
        select(h.name, func.coalesce(i.site, ""), last.c.read_at, tried.c.read_at)
        .add_columns(tried.c.failure, tried.c.error)
        .select_from(host)
        .join(tried, (tried.c.host == h.id) & (tried.c.audit == at))
        .outerjoin(last, (last.c.host == h.id) & (last.c.audit == known))
        .outerjoin(inventory, (i.host == h.id) & i.closed.is_(None))
        .where(tried.c.status == "failed")
        .order_by(h.name)
    )
    if number is None:
        query = query.where(i.host.is_not(None))
    return [
        StaleHost(name, site, _time(read), _time(at_), failure, error)
        for name, site, read, at_, failure, error in connection.execute(query)
    ]


def _time(at: int | None) -> str | None:
    return None if at is None else time_text(at)


def number_of(connection: Connection, named: str, database: Database) -> int:
    """The number of the audit named by an id, a date or time (the last whole audit that ended by
    then, or else the last one), ``latest`` or ``previous``. Raises UsageError."""
    a = audit.c
    query = select(a.number).order_by(a.number.desc())
    if named in (LATEST, PREVIOUS):
        found = connection.execute(query.limit(2)).scalars().all()
        if len(found) > (named == PREVIOUS):
            return int(found[named == PREVIOUS])
    else:
        exact = connection.execute(query.where(a.id == named)).scalar()
        if exact is not None:
            return int(exact)
        end = _end(named)
        if end is not None:
            return _number_at(connection, named, end)
    raise UsageError(
        f"history {database.place.label}: there is no audit {named[:60]!r}; name one by its id, a "
        f"date (2026-11-22), {LATEST} or {PREVIOUS}; `vnicaudit history` lists them"
    )


def audit_name(connection: Connection, number: int) -> AuditName:
    """The id and start of the audit with this number."""
    query = select(audit.c.id, audit.c.started).where(audit.c.number == number)
    name, started = connection.execute(query).one()
    return AuditName(name, time_text(started))


def _number_at(connection: Connection, named: str, end: int) -> int:
    a = audit.c
    until = select(a.number).where(a.started < end).order_by(a.number.desc())
    share = select(basis.c.id).where(basis.c.nic_share == 1.0)
    whole = until.where(a.limit_pattern == "", a.host_share == 1.0, a.basis.in_(share))
    for query in (whole, until):
        found = connection.execute(query).scalar()
        if found is not None:
            return int(found)
    raise UsageError(f"there is no stored audit from {named} or before")


def _end(named: str) -> int | None:
    """The end of the named day or second, in milliseconds; None: it is not a time."""
    try:
        at = moment(named)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
    at += timedelta(days=1) if len(named) == len("2026-11-22") else timedelta(seconds=1)
    return milliseconds(at.isoformat())


def details(database: Database, named: str) -> AuditDetails:
    """An audit, the hosts that it did not read, and the findings that it changed (new, back, ended
    or accepted). Raises UsageError."""
    with database.reading() as connection:
        number = number_of(connection, named, database)
        (summary,) = summaries(connection, audit.c.number == number)
        return AuditDetails(
            audit=summary,
            not_read=tuple(_stale(connection, number)),
            findings=tuple(_changed_by(connection, number)),
        )


def _changed_by(connection: Connection, number: int) -> Iterator[FindingRecord]:
    f, p = finding.c, problem.c
    opened = (f.opened == number) & f.opened_as.not_in(("changed",))
    ended = (f.closed == number) & f.closed_as.in_(("fixed", "gone"))
    order = (p.rule, host.c.name, f.subject, f.mac)
    for one in finding_intervals(connection, or_(opened, ended), *order):
        yield one.record(one.arrival if one.opened == number else one.closed_as or "gone")
