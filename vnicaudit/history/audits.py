"""The audits of a history: lists them, finds them by name, and shows what each changed; counts of
findings, the newest ones, and over time, as of each audit; stale ones are counted separately."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, or_, select

from vnicaudit.base.deadlines import moment
from vnicaudit.errors import UsageError
from vnicaudit.history.database import Database
from vnicaudit.history.rows import finding_intervals, milliseconds, time_text
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
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.fleet import FindingCount, FleetCounts, SiteCounts
from vnicaudit.model.history import (
    AuditDetails,
    AuditName,
    AuditSummary,
    FindingRecord,
    HistoryStatus,
    StaleHost,
    Trend,
    TrendPoint,
    TrendRequest,
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


# The newest counts, for metrics: a few queries on small tables and on stored counts.

_SEVERITIES: dict[str, Severity] = {name: name for name in SEVERITIES}
SeverityOf = Callable[[str], Severity | None]
"""The default severity of a rule; None: the rule is not known here."""


def counts_of(database: Database, severity_of: SeverityOf) -> FleetCounts:
    """The counts after the newest audit. Raises HistoryError."""
    with database.reading() as connection:
        a = audit.c
        last = select(a.number, a.finished, a.basis, a.host_share, basis.c.nic_share)
        last = last.join(basis, basis.c.id == a.basis).order_by(a.number.desc()).limit(1)
        newest = connection.execute(last).one_or_none()
        if newest is None:
            return FleetCounts()
        number, finished, basis_id, host_share, nic_share = newest
        rules = list(_rules(connection, int(basis_id), severity_of))
        t = tally.c
        flows = (t.new, t.reopened, t.fixed, t.gone)
        sums = select(*(func.coalesce(func.sum(column), 0) for column in flows))
        new, reopened, fixed, gone = connection.execute(sums.where(t.audit == number)).one()
        return FleetCounts(
            finished=None if finished is None else time_text(int(finished)),
            rules=tuple(rules),
            host_share=float(host_share),
            nic_share=float(nic_share),
            findings=tuple(_findings(connection, number)),
            sites=tuple(_sites(connection, number)),
            new=int(new),
            reopened=int(reopened),
            fixed=int(fixed),
            gone=int(gone),
        )


def _rules(
    connection: Connection, basis_id: int, severity_of: SeverityOf
) -> Iterator[tuple[str, Severity]]:
    query = select(basis_rule.c.rule).where(basis_rule.c.basis == basis_id)
    for (rule,) in connection.execute(query.order_by(basis_rule.c.rule)):
        severity = severity_of(rule)
        if severity is not None:
            yield rule, severity


def _findings(connection: Connection, number: int) -> Iterator[FindingCount]:
    t = tally.c
    columns = (t.rule, t.severity, t.site, t.owner, t.open, t.stale, t.accepted)
    for rule, severity, site, owner, *numbers in connection.execute(
        select(*columns).where(t.audit == number)
    ):
        opened, stale, accepted = map(int, numbers)
        known = _SEVERITIES.get(severity, "info")
        yield FindingCount(rule, known, site, owner, opened, stale, accepted)


def _sites(connection: Connection, number: int) -> Iterator[SiteCounts]:
    """Hosts of the current inventory, by the result of reading them in the newest audit."""
    h, r = host.c, reading.c
    tried = h.tried == number
    read, whole = and_(tried, h.read == number), and_(tried, h.whole == number)
    failed = and_(tried, func.coalesce(h.read, -1) != number)
    states = [
        func.sum(case((state, 1), else_=0))
        for state in (whole, and_(read, func.coalesce(h.whole, -1) != number), failed)
    ]
    sums = [func.coalesce(func.sum(column), 0) for column in (r.domains, r.nics)]
    query = (
        select(inventory.c.site, func.count(), *states, *sums, func.min(r.read_at))
        .select_from(inventory)
        .join(host, h.id == inventory.c.host)
        .outerjoin(reading, and_(r.audit == h.read, r.host == h.id))
        .where(inventory.c.closed.is_(None))
        .group_by(inventory.c.site)
        .order_by(inventory.c.site)
    )
    for site, *numbers, oldest in connection.execute(query):
        hosts, fresh, partial, failures, domains, nics = map(int, numbers)
        yield SiteCounts(
            site, fresh, partial, hosts - fresh - partial - failures, failures, domains, nics,
            None if oldest is None else time_text(int(oldest)),
        )  # fmt: skip


def trend_of(database: Database, request: TrendRequest) -> Trend:
    """The counts of each group at each audit, oldest first."""
    conditions = [
        tally.c[column].in_(values)
        for column, values in (
            ("rule", request.rules),
            ("severity", request.severities),
            ("site", request.sites),
            ("owner", request.owners),
        )
        if values
    ]
    since = 0
    if request.days is not None:
        begin = datetime.now(timezone.utc) - timedelta(days=request.days)
        since = round(begin.timestamp() * 1000)
    recent = audit.c.started >= since
    group = [] if request.by == "all" else [tally.c[request.by]]
    query = (
        select(audit.c.id, audit.c.started, *group)
        .add_columns(*(func.sum(tally.c[name]) for name in _COUNTS))
        .join(audit, audit.c.number == tally.c.audit)
        .where(recent, *conditions)
        .group_by(audit.c.number, audit.c.id, audit.c.started, *group)
        .order_by(audit.c.number, *group)
    )
    points = []
    with database.reading() as connection:
        for name, started, *rest in connection.execute(query):
            key = str(rest[0]) if group else "all"
            counts = map(int, rest[len(group) :])
            points.append(TrendPoint(name, time_text(started), key, *counts))
        audits = reversed(summaries(connection, recent))
        return Trend(by=request.by, audits=tuple(audits), points=tuple(points))
