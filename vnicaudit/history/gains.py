"""Measured gains of changes, for ranking what to change first."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from vnicaudit.history.database import Database
from vnicaudit.history.tables import benchmark_result
from vnicaudit.model.ranking import MeasuredGain

NO_RESULT = ("invalid", "generator-limited", "at-ceiling")
"""Verdicts of measurements that show nothing about the NIC."""


def measured_gains(database: Database) -> Iterator[MeasuredGain]:
    """The comparisons that decided each measurement, in the order of their ids. Raises
    HistoryError."""
    c = benchmark_result.c
    columns = (
        c.before_nic, c.after_nic, c.workload, c.metric, c.percent, c.low95, c.high95,
    )  # fmt: skip
    query = select(*columns).where(
        c.is_primary == 1, c.before_nic.is_not(None), c.after_nic.is_not(None),
        c.percent.is_not(None), c.verdict.not_in(NO_RESULT),
    )  # fmt: skip
    order = (c.benchmark, c.workload, c.metric, c.before_arm, c.after_arm)
    with database.reading() as connection:
        for before, after, workload, metric, percent, low95, high95 in connection.execute(
            query.order_by(*order)
        ):
            yield MeasuredGain(
                before_nic=str(before),
                after_nic=str(after),
                workload=str(workload),
                metric=str(metric),
                percent=float(percent),
                low95=None if low95 is None else float(low95),
                high95=None if high95 is None else float(high95),
            )
