"""Measurements of ``vnicaudit bench`` in the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import select

from vnicaudit.history.database import Database, Row, insert_rows
from vnicaudit.history.rows import milliseconds, printable
from vnicaudit.history.tables import benchmark, benchmark_result
from vnicaudit.model.measurement import ArmSummary, BenchResult, Comparison
from vnicaudit.model.ranking import MeasuredGain

# Measured gains of changes, for ranking what to change first.

NO_RESULT = ("invalid", "generator-limited", "at-ceiling", "not-judged")
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


def add_measurements(database: Database, results: Iterable[BenchResult]) -> int:
    """Add finished measurements; returns the number of new ones."""
    added = 0
    with database.writing() as connection:
        for one in results:
            known = select(benchmark.c.id).where(benchmark.c.id == one.run.id)
            if one.run.finished is None or connection.execute(known).scalar() is not None:
                continue
            insert_rows(connection, benchmark, [_head(one)])
            rows = {row[:5]: row for row in (_result(one, each) for each in one.results)}
            insert_rows(connection, benchmark_result, list(rows.values()))
            added += 1
    return added


def _head(one: BenchResult) -> Row:
    path = one.paths[0] if one.paths else None
    guest = None if path is None else path.guest or path.domain
    return (
        one.run.id,
        milliseconds(one.run.started),
        one.run.version,
        one.run.profile,
        one.run.design,
        None if guest is None else printable(guest),
        None if path is None else path.mac,
        None if one.decision is None else one.decision.verdict,
    )


def _result(one: BenchResult, compared: Comparison) -> tuple[str | float | int | None, ...]:
    nics = {path.name: path.nic for path in one.paths}
    before, after, effect = compared.before, compared.after, compared.effect
    return (
        one.run.id, compared.workload, compared.metric, compared.before_arm, compared.after_arm,
        compared.unit, nics.get(compared.before_arm), nics.get(compared.after_arm),
        int(compared.primary), *_arm(before), *_arm(after),
        None if effect is None else effect.percent,
        None if effect is None else effect.low95,
        None if effect is None else effect.high95,
        compared.verdict,
    )  # fmt: skip


def _arm(one: ArmSummary | None) -> tuple[int | None, float | None]:
    return (None, None) if one is None else (one.n, one.median)
