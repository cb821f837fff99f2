"""Hosts, past inventories, and the result of reading each host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select, update

from vnicaudit.history.database import Row, insert_rows
from vnicaudit.history.known import HostCounts, Inventoried, KnownHost, chunks, known_hosts
from vnicaudit.history.rows import digest, milliseconds, printable
from vnicaudit.history.tables import basis, basis_rule, host, inventory, reading
from vnicaudit.model.fleet import (
    Coverage,
    FleetAudit,
    HostReading,
    HostStatus,
    InventoryHost,
    KeptReading,
)
from vnicaudit.text.secrets import masked_message

_ERROR = 500
"""Maximum characters stored of an error."""
_TRIES = 32767
"""Maximum value of a column of that type."""


def basis_number(connection: Connection, version: str, coverage: Coverage) -> int:
    """The number of the basis with this version and coverage."""
    rules = sorted(set(coverage.rules))
    share = f"{coverage.nic_share!r} {coverage.seed if coverage.nic_share < 1 else ''}"
    key = digest(version, share, *rules)
    known = connection.execute(select(basis.c.id).where(basis.c.key == key)).scalar()
    if known is not None:
        return int(known)
    number = 1 + (connection.execute(select(func.max(basis.c.id))).scalar() or 0)
    seed = None if coverage.seed is None else coverage.seed & 0x7FFF_FFFF_FFFF_FFFF
    row = (number, key, version, " ".join(rules), coverage.nic_share, seed)
    insert_rows(connection, basis, [row])
    insert_rows(connection, basis_rule, [(number, rule) for rule in rules])
    return number


def write_inventory(
    connection: Connection, audit: int, hosts: Sequence[InventoryHost]
) -> dict[str, KnownHost]:
    """Store the inventory of an audit; returns all its hosts by name, in their previously known
    state."""
    known = known_hosts(connection)
    now = {one.name: _inventoried(one) for one in hosts}
    _add_hosts(connection, [name for name in now if name not in known], known)
    ended = [
        one.id
        for name, one in known.items()
        if one.inventoried is not None and now.get(name) != one.inventoried
    ]
    for some in chunks(ended):
        here = inventory.c.host.in_(some) & inventory.c.closed.is_(None)
        connection.execute(update(inventory).where(here).values(closed=audit))
    begun = [name for name in now if known[name].inventoried != now[name]]
    rows = [(known[name].id, audit, None, *now[name]) for name in begun]
    insert_rows(connection, inventory, rows)
    return {name: known[name]._replace(inventoried=now[name]) for name in now}


def _add_hosts(connection: Connection, names: Iterable[str], known: dict[str, KnownHost]) -> None:
    last = connection.execute(select(func.max(host.c.id))).scalar() or 0
    rows: list[Row] = []
    for number, name in enumerate(names, last + 1):
        known[name] = KnownHost(number)
        rows.append((number, name, None, None, None))
    insert_rows(connection, host, rows)


def _inventoried(one: InventoryHost) -> Inventoried:
    texts = (masked_message(one.uri), one.site, " ".join(one.groups), one.source)
    return Inventoried(*map(printable, texts))


def counts_of(one: HostReading) -> HostCounts:
    """The counts of a reading."""
    domains = nics = findings = accepted = skipped = 0
    for each in one.audited:
        domains += each.scope == "domain"
        nics += each.nics
        findings += len(each.findings)
        accepted += len(each.suppressed) + len(each.baselined)
        skipped += len(each.skipped) + len(each.crashed)
    return HostCounts(domains, nics, findings, accepted, skipped)


class HostWork(NamedTuple):
    """One host of an audit, with its state before (``known``). ``row``: its row in the table of
    readings, without the audit. ``is_late``: it was read before the last reading that is known.
    ``is_unchanged``: it was read, and nothing changed. ``reading``: to be compared with the state
    before; None: no comparison is needed."""

    known: KnownHost
    status: HostStatus
    row: Row
    is_late: bool
    is_unchanged: bool
    reading: HostReading | None


def host_work(
    known: KnownHost, kept: KeptReading, basis_now: int, *, shares: bool = False
) -> HostWork:
    """Find out if a reading contains changes, without unpacking it if possible. ``shares``: the
    host shares open findings with other hosts, which end when those change."""
    at = milliseconds(kept.finished)
    is_late = at < known.read_at
    key = digest(kept.digest, kept.status) if kept.digest else b""
    same = bool(key) and (known.basis, known.digest) == (basis_now, key)
    if same and kept.status == "ok" and not shares:
        row: Row = (known.id, "ok", int(is_late), 1, None, None, 1, at, key, *known.counts)
        return HostWork(known, "ok", row, is_late=is_late, is_unchanged=True, reading=None)
    one = kept.reading()
    error = one.result.error
    same = same and one.status != "failed"
    row = (
        known.id,
        one.status,
        int(is_late),
        int(same),
        one.failure,
        None if error is None else printable(masked_message(error))[:_ERROR],
        min(one.tries, _TRIES),
        at,
        key,
        *counts_of(one),
    )
    new = one.status != "failed" and not is_late and (shares or not same)
    wanted = one if new else None
    return HostWork(known, one.status, row, is_late=is_late, is_unchanged=same, reading=wanted)


def note_readings(connection: Connection, audit: int, *, all_nics: bool) -> None:
    """Set the last readings of each host, writing each row once."""
    r = reading.c
    here = select(r.host).where(r.audit == audit)
    read = here.where(r.late == 0)
    ok = {"tried": audit, "read": audit, **({"whole": audit} if all_nics else {})}
    for hosts, values in (
        (read.where(r.status == "ok"), ok),
        (read.where(r.status == "partial"), {"tried": audit, "read": audit}),
        (here.where(or_(r.late == 1, r.status == "failed")), {"tried": audit}),
    ):
        connection.execute(update(host).where(host.c.id.in_(hosts)).values(values))


class ReadingCounts(NamedTuple):
    """Number of hosts by the result of reading them in an audit."""

    ok: int = 0
    partial: int = 0
    failed: int = 0
    unchanged: int = 0


def audit_row(
    number: int, one: FleetAudit, basis_id: int, outcome: ReadingCounts, domains: int, nics: int
) -> Row:
    """The row of an audit."""
    ended = None if one.finished is None else milliseconds(one.finished)
    coverage = one.coverage
    return (
        number, one.id, milliseconds(one.started), ended, basis_id, printable(coverage.limit),
        coverage.host_share, len(one.hosts), len(one.chosen_hosts), *outcome, domains, nics,
    )  # fmt: skip
