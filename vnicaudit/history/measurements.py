"""Measurements of ``vnicaudit bench`` in the history."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from vnicaudit.history.bulk import Row, insert_rows
from vnicaudit.history.database import Database
from vnicaudit.history.rows import milliseconds, printable
from vnicaudit.history.tables import benchmark, benchmark_result
from vnicaudit.model.measurement import ArmSummary, BenchResult, Comparison


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
