"""Counts of findings: the newest ones, and over time, as of each audit; stale ones are counted
separately."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

from sqlalchemy import Connection, Select, and_, case, func, select

from vnicaudit.history.audits import summaries
from vnicaudit.history.database import Database
from vnicaudit.history.rows import time_text
from vnicaudit.history.tables import audit, basis, basis_rule, host, inventory, reading, tally
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.fleet import FindingCount, FleetCounts, SiteCounts
from vnicaudit.model.history import Trend, TrendPoint, TrendRequest

# The newest counts, for metrics: a few queries on small tables and on stored counts.

_SEVERITIES: dict[str, Severity] = {name: name for name in SEVERITIES}
SeverityOf = Callable[[str], Severity | None]
"""The default severity of a rule; None: the rule is not known here."""


def counts_of(database: Database, severity_of: SeverityOf) -> FleetCounts:
    """The counts after the newest audit. Raises HistoryError."""
    with database.reading() as connection:
        newest = connection.execute(_newest()).one_or_none()
        if newest is None:
            return FleetCounts()
        number, finished, basis_id, host_share, nic_share = newest
        rules = list(_rules(connection, int(basis_id), severity_of))
        new, reopened, fixed, gone = connection.execute(_changes(number)).one()
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


def _newest() -> Select[int, int | None, int, float, float]:
    a = audit.c
    columns = (a.number, a.finished, a.basis, a.host_share, basis.c.nic_share)
    query = select(*columns).join(basis, basis.c.id == a.basis)
    return query.order_by(a.number.desc()).limit(1)


def _changes(number: int) -> Select[int, int, int, int]:
    t = tally.c
    flows = (t.new, t.reopened, t.fixed, t.gone)
    sums = [func.coalesce(func.sum(column), 0) for column in flows]
    return select(*sums).where(t.audit == number)


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


_COUNTS = ("open", "stale", "accepted", "new", "reopened", "fixed", "gone")


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
    recent = audit.c.started >= _since(request.days)
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


def _since(days: float | None) -> int:
    if days is None:
        return 0
    begin = datetime.now(timezone.utc) - timedelta(days=days)
    return round(begin.timestamp() * 1000)
