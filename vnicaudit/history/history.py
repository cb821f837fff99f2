"""The interface of an open history: store audits and measurements in it, query it, prune, copy and
export it, and take its last audit out again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta

import msgspec
from sqlalchemy import (
    Connection,
    Select,
    Table,
    bindparam,
    delete,
    func,
    or_,
    select,
    union,
    update,
)

from vnicaudit.errors import UsageError
from vnicaudit.history.audits import (
    SeverityOf,
    audit_name,
    counts_of,
    details,
    number_of,
    status_of,
    trend_of,
)
from vnicaudit.history.database import Database, Row, insert_rows
from vnicaudit.history.drift import drift_between
from vnicaudit.history.fleet_state import FleetState, last_readings
from vnicaudit.history.origins import compare_again
from vnicaudit.history.place import HistoryPlace
from vnicaudit.history.rows import fingerprint_bytes, milliseconds, printable
from vnicaudit.history.store import store_audit
from vnicaudit.history.tables import (
    META,
    NO_RESULT,
    WAS_READ,
    audit,
    basis,
    basis_rule,
    benchmark,
    benchmark_result,
    finding,
    host,
    inventory,
    nic,
    notified,
    problem,
    reading,
    schema,
    tally,
)
from vnicaudit.model.decoding import converted
from vnicaudit.model.fleet import FleetAudit, FleetCounts, HostReading, KeptReading, kept_reading
from vnicaudit.model.history import (
    AuditDetails,
    AuditName,
    Drift,
    HistoryStatus,
    StoredAudit,
    Trend,
    TrendRequest,
)
from vnicaudit.model.measurement import ArmSummary, BenchResult, Comparison
from vnicaudit.model.ranking import LastReadings, MeasuredGain

_DAYS = 7
"""Days for which claims are stored."""


class History:
    """An open history. Its methods raise UsageError for something that does not exist, HistoryError
    for failures of the database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def store(self, audit: FleetAudit, readings: Iterable[HostReading]) -> StoredAudit:
        """Store an audit, completely or not at all. Each host counts once; an audit whose id is
        already stored is left unchanged. Only one process stores at a time; others wait."""
        return self.take(audit, map(kept_reading, readings))

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> StoredAudit:
        """Store an audit with packed readings; those without changes are not unpacked."""
        with self.database.writing() as connection:
            return store_audit(connection, audit, readings)

    def status(self, most: int | None = None) -> HistoryStatus:
        """The current state of the history. ``most``: number of newest audits to include; None:
        all."""
        return status_of(self.database, most)

    def details(self, audit: str) -> AuditDetails:
        """One audit, and its changes."""
        return details(self.database, audit)

    def trend(self, request: TrendRequest) -> Trend:
        """Counts over time."""
        return trend_of(self.database, request)

    def counts(self, severity_of: SeverityOf) -> FleetCounts:
        """The newest counts, for metrics."""
        return counts_of(self.database, severity_of)

    @contextmanager
    def fleet_state(self) -> Iterator[FleetState]:
        """The state of the whole fleet, in one transaction."""
        with self.database.reading() as connection:
            yield FleetState(connection)

    def drift(self, before: str, after: str) -> Drift:
        """The differences between two audits, in the part that both covered."""
        return drift_between(self.database, before, after)

    def prune(self, before: int) -> Pruned:
        """Remove what ended before that time (milliseconds since 1970), and audits that started
        before it, except the newest. Open NICs and findings, the last reading of each host, and the
        times when something was first seen stay, however old."""
        with self.database.writing() as connection:
            newest = connection.execute(select(func.max(audit.c.number))).scalar() or 0
            old = select(audit.c.number).where(audit.c.started < before, audit.c.number < newest)
            nics = _delete_ended(connection, nic, old)
            findings = _delete_ended(connection, finding, old)
            _delete_ended(connection, inventory, old)
            readings = _delete_readings(connection, old)
            connection.execute(delete(tally).where(tally.c.audit.in_(old)))
            pruned = Pruned(_delete_audits(connection, old), readings, nics, findings)
            _delete_unused(connection)
        if self.database.is_sqlite:
            with self.database.plain() as connection:
                connection.exec_driver_sql("VACUUM")
        return pruned

    def remove(self, named: str) -> AuditName:
        """Remove the newest audit: what is known of its hosts is again what was known before it.
        Raises UsageError if it is not the newest, or if what was known before was pruned."""
        with self.database.writing() as connection:
            number = number_of(connection, named, self.database)
            removed = audit_name(connection, number)
            newest = connection.execute(select(func.max(audit.c.number))).scalar() or 0
            if number < newest:
                raise UsageError(
                    f"audit {removed.audit}: later ones build on it; remove "
                    f"{audit_name(connection, newest).audit} first"
                )
            for table in (nic, finding, inventory):
                connection.execute(delete(table).where(table.c.opened == number))
                ended = {column: None for column in ("closed", "closed_as") if column in table.c}
                connection.execute(update(table).where(table.c.closed == number).values(ended))
            connection.execute(
                update(finding).where(finding.c.unlooked == number).values(unlooked=None)
            )
            for table, of in (
                (reading, reading.c.audit),
                (tally, tally.c.audit),
                (audit, audit.c.number),
            ):
                connection.execute(delete(table).where(of == number))
            _set_last_readings(connection, number)
            known = select(nic.c.host).union(select(finding.c.host))
            lost = select(host.c.name).where(host.c.read.is_(None), host.c.id.in_(known))
            if names := connection.execute(lost).scalars().all():
                raise UsageError(
                    f"audit {removed.audit}: what was known of {names[0]} before it was pruned, so "
                    "it cannot be removed"
                )
            compare_again(connection, connection.execute(select(host.c.id)).scalars().all())
            _delete_unused(connection)
        return removed

    def copy_to(self, empty: History) -> int:
        """Copy everything into an empty history; returns the number of rows. Raises UsageError."""
        copied = 0
        tables = [table for table in META.sorted_tables if table is not schema]
        with self.database.reading() as reader, empty.database.writing() as writer:
            for table in tables:
                if writer.execute(select(func.count()).select_from(table)).scalar():
                    raise UsageError(
                        f"history {empty.database.place.label}: it is not empty; copy into another "
                        "place"
                    )
            streamed = reader.execution_options(yield_per=_AT_ONCE)
            for table in tables:
                for some in streamed.execute(select(table)).partitions():
                    insert_rows(writer, table, [tuple(row) for row in some])
                    copied += len(some)
        return copied

    def export(self, since: str | None = None) -> Iterator[str]:
        """All rows, each as ``{"table": "nic", "row": {"id": 1, …}}`` with its line break; bytes
        are Base64. With ``since``, those that audits after this one began or ended. Raises
        UsageError."""
        with self.database.reading() as reader:
            after = None if since is None else number_of(reader, since, self.database)
            streamed = reader.execution_options(yield_per=_AT_ONCE)
            for table in META.sorted_tables:
                rows = select(table)
                numbers = [
                    table.c[name] for name in _NUMBERS if name in table.c and table is not schema
                ]
                if after is not None and numbers:
                    rows = rows.where(or_(*(number > after for number in numbers)))
                for row in streamed.execute(rows).mappings():
                    line = {
                        "table": str(table.name),
                        "row": {str(name): value for name, value in row.items()},
                    }
                    yield msgspec.json.encode(line).decode() + "\n"

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Claim those of the fingerprints that are not yet claimed for that channel and day
        (``2026-11-26``), and return them."""
        if not findings:
            return frozenset()
        marks, channel = {fingerprint_bytes(text): text for text in findings}, printable(channel)
        n = notified.c
        oldest = date.fromisoformat(day) - timedelta(days=_DAYS)
        known = select(n.fingerprint).where(n.channel == channel, n.day == day)
        with self.database.writing() as connection:
            connection.execute(delete(notified).where(n.day <= oldest.isoformat()))
            for claimed in connection.execute(known).scalars():
                marks.pop(bytes(claimed), None)
            insert_rows(connection, notified, [(channel, day, mark) for mark in sorted(marks)])
        return frozenset(marks.values())

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Withdraw claims: the message was certainly not received."""
        if not findings:
            return
        n = notified.c
        ours = (n.channel == printable(channel), n.day == day)
        statement = delete(notified).where(*ours, n.fingerprint == bindparam("mark"))
        with self.database.writing() as connection:
            connection.execute(statement, [{"mark": fingerprint_bytes(one)} for one in findings])

    def gains(self) -> tuple[MeasuredGain, ...]:
        """Measured gains of NIC changes: the comparisons that decided each measurement, in the
        order of their ids."""
        c, names = benchmark_result.c, MeasuredGain.__struct_fields__
        query = (
            select(*(c[name] for name in names))
            .where(c.is_primary == 1, c.before_nic.is_not(None), c.after_nic.is_not(None))
            .where(c.percent.is_not(None), c.verdict.not_in(NO_RESULT))
            .order_by(c.benchmark, c.workload, c.metric, c.before_arm, c.after_arm)
        )
        with self.database.reading() as connection:
            rows = (dict(zip(names, row, strict=True)) for row in connection.execute(query))
            return tuple(converted(row, MeasuredGain) for row in rows)

    def last_readings(self, hosts: Collection[str], fingerprints: Collection[str]) -> LastReadings:
        """The last readings of these hosts, and the marks of these findings that are open."""
        with self.database.reading() as connection:
            return last_readings(connection, hosts, fingerprints)

    def add_measurements(self, results: Iterable[BenchResult]) -> int:
        """Add measurements; the number of those that were not known."""
        added = 0
        with self.database.writing() as connection:
            for one in results:
                known = select(benchmark.c.id).where(benchmark.c.id == one.run.id)
                if one.run.finished is None or connection.execute(known).scalar() is not None:
                    continue
                insert_rows(connection, benchmark, [_head(one)])
                rows = {row[:5]: row for row in (_result(one, each) for each in one.results)}
                insert_rows(connection, benchmark_result, list(rows.values()))
                added += 1
        return added


@contextmanager
def opened(place: HistoryPlace, *, read_only: bool, patience: float) -> Iterator[History]:
    """The history at a place, whatever it holds."""
    database = Database(place, read_only=read_only, patience=patience)
    try:
        yield History(database)
    finally:
        database.close()


_AT_ONCE = 5000
"""Rows copied together."""


class Pruned(msgspec.Struct, frozen=True):
    """Number of rows removed. ``audits``: those that no remaining row refers to."""

    audits: int
    readings: int
    nics: int
    findings: int


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


def _set_last_readings(connection: Connection, number: int) -> None:
    """Set the last readings of the hosts whose last reading was removed with that audit."""
    h, r = host.c, reading.c
    last = select(func.max(r.audit)).where(r.host == h.id)
    whole = last.join(audit, audit.c.number == r.audit).join(basis, basis.c.id == audit.c.basis)
    whole = whole.where(WAS_READ, r.status == "ok", basis.c.nic_share == 1.0)
    for column, query in ((h.tried, last), (h.read, last.where(WAS_READ)), (h.whole, whole)):
        again = update(host).where(column == number)
        connection.execute(again.values({column.name: query.scalar_subquery()}))


_NUMBERS = ("number", "audit", "opened", "closed")
"""Columns with the number of the audit that began or ended a row. Tables without one are small."""


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
