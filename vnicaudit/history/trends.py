"""Counts of findings over time, as of each audit; stale ones are counted separately."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from sqlalchemy import func, select

from vnicaudit.history.audits import summaries
from vnicaudit.history.database import Database
from vnicaudit.history.rows import time_text
from vnicaudit.history.tables import audit, tally
from vnicaudit.model.history import Trend, TrendPoint, TrendRequest

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
