"""Removal of ended intervals that are old, and of old audits; open intervals stay. Copies of whole
histories: into another one, or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import Connection, Select, Table, delete, func, select, union

from vnicaudit.errors import UsageError
from vnicaudit.history.database import Database, insert_rows
from vnicaudit.history.tables import (
    META,
    audit,
    basis,
    basis_rule,
    finding,
    host,
    inventory,
    nic,
    problem,
    reading,
    schema,
    tally,
)

_AT_ONCE = 5000
"""Rows copied together."""


class Pruned(msgspec.Struct, frozen=True):
    """Number of rows removed. ``audits``: those that no remaining row refers to."""

    audits: int
    readings: int
    nics: int
    findings: int


def prune(database: Database, before: int) -> Pruned:
    """Remove what ended before that time (milliseconds since 1970), and audits that started before
    it, except the newest. Open NICs and findings, the last reading of each host, and the times when
    something was first seen stay, however old."""
    with database.writing() as connection:
        newest = connection.execute(select(func.max(audit.c.number))).scalar() or 0
        old = select(audit.c.number).where(audit.c.started < before, audit.c.number < newest)
        nics = _delete_ended(connection, nic, old)
        findings = _delete_ended(connection, finding, old)
        _delete_ended(connection, inventory, old)
        readings = _delete_readings(connection, old)
        connection.execute(delete(tally).where(tally.c.audit.in_(old)))
        pruned = Pruned(_delete_audits(connection, old), readings, nics, findings)
        _delete_unused(connection)
    if database.is_sqlite:
        with database.plain() as connection:
            connection.exec_driver_sql("VACUUM")
    return pruned


def _delete_ended(connection: Connection, table: Table, old: Select[tuple[int]]) -> int:
    return connection.execute(delete(table).where(table.c.closed.in_(old))).rowcount


def _delete_readings(connection: Connection, old: Select[tuple[int]]) -> int:
    """Delete all but the last readings of each host."""
    kept = select(host.c.id).where(
        host.c.id == reading.c.host,
        (host.c.tried == reading.c.audit)
        | (host.c.read == reading.c.audit)
        | (host.c.whole == reading.c.audit),
    )
    statement = delete(reading).where(reading.c.audit.in_(old), ~kept.exists())
    return connection.execute(statement).rowcount


def _delete_audits(connection: Connection, old: Select[tuple[int]]) -> int:
    used = [
        *(select(table.c.opened) for table in (nic, finding, inventory)),
        *(select(column).where(column.is_not(None)) for column in (nic.c.closed, finding.c.closed)),
        *(select(column).where(column.is_not(None)) for column in (host.c.tried, host.c.read)),
        select(host.c.whole).where(host.c.whole.is_not(None)),
        select(reading.c.audit),
    ]
    kept = union(*used).subquery()
    unused = audit.c.number.not_in(select(kept.c[0]))
    statement = delete(audit).where(audit.c.number.in_(old), unused)
    return connection.execute(statement).rowcount


def _delete_unused(connection: Connection) -> None:
    """Delete problems and bases that nothing refers to."""
    used = select(finding.c.problem)
    connection.execute(delete(problem).where(problem.c.id.not_in(used)))
    bases = select(audit.c.basis)
    connection.execute(delete(basis).where(basis.c.id.not_in(bases)))
    connection.execute(delete(basis_rule).where(basis_rule.c.basis.not_in(bases)))


def copy_rows(source: Database, target: Database) -> int:
    """Copy all rows into a history that has none; returns their number. Raises UsageError if it has
    some."""
    copied = 0
    tables = [table for table in META.sorted_tables if table is not schema]
    with source.reading() as reader, target.writing() as writer:
        for table in tables:
            if writer.execute(select(func.count()).select_from(table)).scalar():
                raise UsageError(
                    f"history {target.place.label}: it is not empty; copy into another place"
                )
        streamed = reader.execution_options(yield_per=_AT_ONCE)
        for table in tables:
            for some in streamed.execute(select(table)).partitions():
                insert_rows(writer, table, [tuple(row) for row in some])
                copied += len(some)
    return copied


def json_lines(database: Database) -> Iterator[str]:
    """All rows, each as ``{"table": "nic", "row": {"id": 1, …}}`` with its line break; bytes are
    Base64."""
    with database.reading() as reader:
        streamed = reader.execution_options(yield_per=_AT_ONCE)
        for table in META.sorted_tables:
            for row in streamed.execute(select(table)).mappings():
                line = {
                    "table": str(table.name),
                    "row": {str(name): value for name, value in row.items()},
                }
                yield msgspec.json.encode(line).decode() + "\n"
