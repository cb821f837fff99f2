"""Removal of ended intervals that are old, and of old audits; open intervals stay. Removal of one
audit, with what it changed."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, Select, Table, delete, func, select, union, update

from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import audit_name, number_of
from vnicaudit.history.database import Database
from vnicaudit.history.origins import reset_hosts
from vnicaudit.history.tables import (
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
    tally,
)
from vnicaudit.model.history import AuditName


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


def remove(database: Database, named: str) -> AuditName:
    """Remove one audit: what is known of its hosts is again what was known before it. Raises
    UsageError if later audits build on it, or if what was known before was pruned."""
    with database.writing() as connection:
        number = number_of(connection, named, database)
        removed = audit_name(connection, number)
        hosts = _changed_hosts(connection, number)
        _check_is_last(connection, removed.audit, number, hosts)
        for table in (nic, finding):
            connection.execute(delete(table).where(table.c.opened == number))
            again = update(table).where(table.c.closed == number)
            connection.execute(again.values(closed=None, closed_as=None))
        forgotten = update(finding).where(finding.c.unlooked == number)
        connection.execute(forgotten.values(unlooked=None))
        _rejoin_inventory(connection, number)
        for table in (reading, tally):
            connection.execute(delete(table).where(table.c.audit == number))
        connection.execute(delete(audit).where(audit.c.number == number))
        _set_last_readings(connection, number)
        reset_hosts(connection, sorted(hosts))
        _delete_unused(connection)
    return removed


def _changed_hosts(connection: Connection, number: int) -> frozenset[int]:
    """The hosts of which an audit changed what is known."""
    of = (
        select(reading.c.host).where(reading.c.audit == number, WAS_READ),
        *(select(table.c.host).where(table.c.closed == number) for table in (nic, finding)),
    )
    return frozenset(connection.execute(union(*of)).scalars())


def _check_is_last(connection: Connection, name: str, number: int, hosts: frozenset[int]) -> None:
    """Raises UsageError unless the audit is the last that these hosts were read by, and earlier
    readings of them are still there."""
    r = reading.c
    read = select(r.audit, r.host).where(WAS_READ)
    later = {one for one, host in connection.execute(read.where(r.audit > number)) if host in hosts}
    if later:
        newest = audit_name(connection, max(later)).audit
        raise UsageError(
            f"audit {name}: {newest} read some of its hosts later and builds on it; remove that "
            "one first"
        )
    before = frozenset(one for _, one in connection.execute(read.where(r.audit < number)))
    known: set[int] = set()
    for table in (nic, finding):
        query = select(table.c.host).where(table.c.opened < number).distinct()
        known.update(connection.execute(query).scalars())
    if pruned := (hosts & known) - before:
        raise UsageError(
            f"audit {name}: earlier readings of {count(len(pruned), 'host')} were pruned, so what "
            "was known before it cannot be restored"
        )


def _rejoin_inventory(connection: Connection, number: int) -> None:
    """Let the changes of the inventory that this audit brought begin with the next one; without a
    next one, undo them."""
    i = inventory.c
    following = select(func.min(audit.c.number)).where(audit.c.number > number)
    following_number = connection.execute(following).scalar()
    brief = i.opened == number
    if following_number is not None:
        brief = brief & (i.closed == following_number)
    connection.execute(delete(inventory).where(brief))
    for column in (i.opened, i.closed):
        moved = update(inventory).where(column == number)
        connection.execute(moved.values({column.name: following_number}))


def _set_last_readings(connection: Connection, number: int) -> None:
    """Set the last readings of the hosts whose last reading was removed with that audit."""
    h, r = host.c, reading.c
    last = select(func.max(r.audit)).where(r.host == h.id)
    whole = last.join(audit, audit.c.number == r.audit).join(basis, basis.c.id == audit.c.basis)
    whole = whole.where(WAS_READ, r.status == "ok", basis.c.nic_share == 1.0)
    for column, query in ((h.tried, last), (h.read, last.where(WAS_READ)), (h.whole, whole)):
        set_again = update(host).where(column == number)
        connection.execute(set_again.values({column.name: query.scalar_subquery()}))
