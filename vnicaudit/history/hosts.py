"""Hosts, past inventories, and the result of reading each host."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, update

from vnicaudit.history.database import Row, insert_rows
from vnicaudit.history.rows import NicColumns, NicKey, digest, milliseconds, printable
from vnicaudit.history.tables import (
    audit,
    basis,
    basis_rule,
    finding,
    host,
    inventory,
    nic,
    problem,
    reading,
)
from vnicaudit.history.transitions import SHARED, OpenFinding, OpenNic
from vnicaudit.model.fleet import (
    Coverage,
    HostReading,
    HostStatus,
    InventoryHost,
    KeptReading,
)
from vnicaudit.text.secrets import masked_message

# The known state of hosts before an audit is stored: last readings, open NICs and findings.


T = TypeVar("T")

MANY = 500
"""Values in one statement: every database accepts that many."""
CHANGES = frozenset({"changed", "suppressed", "unsuppressed"})
"""How intervals end and begin for something that changed but existed before and after."""


class Inventoried(NamedTuple):
    """A host as an inventory describes it."""

    uri: str
    site: str
    groups: str
    source: str


class HostCounts(NamedTuple):
    """Counts for what was read of a host."""

    domains: int = 0
    nics: int = 0
    findings: int = 0
    accepted: int = 0
    skipped: int = 0


class KnownHost(NamedTuple):
    """A host after the previous audits. ``read``: the last audit that read it; None: none did.
    ``read_at``, ``digest``, ``basis``, ``counts``: of that audit. ``inventoried`` None: the last
    inventory did not contain it."""

    id: int
    read: int | None = None
    read_at: int = 0
    digest: bytes = b""
    basis: int = 0
    counts: HostCounts = HostCounts()
    inventoried: Inventoried | None = None


def chunks(values: Sequence[T], size: int = MANY) -> Iterator[Sequence[T]]:
    """The values in pieces of that size."""
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]


def nics_with(keys: Collection[NicKey]) -> Iterator[ColumnElement[bool]]:
    """Conditions, to be used one after the other, that match intervals of these NICs, but also of
    other NICs with one of their addresses."""
    n = nic.c
    for some in chunks(sorted({mac for _domain, mac in keys if mac is not None})):
        yield n.mac.in_(some)
    for domains in chunks([domain for domain, mac in keys if mac is None]):
        uuids = [one for one in domains if isinstance(one, bytes)]
        names = [one for one in domains if isinstance(one, str)]
        named = and_(n.uuid.is_(None), n.domain.in_(names))
        yield and_(n.mac.is_(None), or_(n.uuid.in_(uuids), named))


def known_hosts(connection: Connection) -> dict[str, KnownHost]:
    """All hosts of the history, by name."""
    h, r, i = host.c, reading.c, inventory.c
    query = (
        select(h.name, h.id, h.read, r.read_at, r.digest, audit.c.basis)
        .add_columns(r.domains, r.nics, r.findings, r.accepted, r.skipped)
        .add_columns(i.uri, i.site, i.groups, i.source)
        .select_from(host)
        .outerjoin(reading, (r.audit == h.read) & (r.host == h.id))
        .outerjoin(audit, audit.c.number == h.read)
        .outerjoin(inventory, (i.host == h.id) & i.closed.is_(None))
    )
    found = {}
    for name, number, read, read_at, hashed, judged_by, *others in connection.execute(query):
        inventoried = None if others[5] is None else Inventoried(*others[5:])
        one = KnownHost(number, inventoried=inventoried)
        if read_at is not None:
            last = (read, read_at, bytes(hashed), judged_by, HostCounts(*others[:5]))
            one = KnownHost(number, *last, inventoried)
        found[name] = one
    return found


def hosts_sharing(connection: Connection) -> frozenset[int]:
    """The hosts with open findings that they share with other hosts."""
    f = finding.c
    query = select(f.host).where(f.closed.is_(None), f.scope == SHARED).distinct()
    return frozenset(connection.execute(query).scalars())


def open_nics(connection: Connection, hosts: Sequence[int]) -> dict[int, list[OpenNic]]:
    """The known NICs of these hosts, by host."""
    columns = [nic.c[name] for name in NicColumns._fields]
    query = select(nic.c.host, nic.c.id, nic.c.first_seen, *columns).where(nic.c.closed.is_(None))
    found: dict[int, list[OpenNic]] = {number: [] for number in hosts}
    for some in chunks(hosts):
        for number, row, seen, *facts in connection.execute(query.where(nic.c.host.in_(some))):
            found[number].append(OpenNic(row, seen, NicColumns(*facts)))
    return found


def open_findings(connection: Connection, hosts: Sequence[int]) -> dict[int, list[OpenFinding]]:
    """The open findings on these hosts, by host."""
    f, p = finding.c, problem.c
    query = (
        select(f.host, f.id, f.fingerprint, f.problem, f.first_seen, f.reopened, f.unlooked)
        .add_columns(f.accepted, f.subject, p.rule, p.severity, p.owner, f.scope, f.uuid, f.mac)
        .add_columns(f.nic_index, f.file)
        .join(problem, p.id == f.problem)
        .where(f.closed.is_(None))
    )
    found: dict[int, list[OpenFinding]] = {number: [] for number in hosts}
    for some in chunks(hosts):
        for number, *values in connection.execute(query.where(f.host.in_(some))):
            found[number].append(OpenFinding(*values))
    return found


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
