"""The known state of hosts before an audit is stored: last readings, open NICs and findings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from vnicaudit.history.looked import SHARED
from vnicaudit.history.rows import NicFacts, NicKey
from vnicaudit.history.tables import audit, finding, host, inventory, nic, problem, reading
from vnicaudit.history.transitions import OpenFinding, OpenNic

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
    for name, number, read, read_at, digest, basis, *others in connection.execute(query):
        inventoried = None if others[5] is None else Inventoried(*others[5:])
        one = KnownHost(number, inventoried=inventoried)
        if read_at is not None:
            last = (read, read_at, bytes(digest), basis, HostCounts(*others[:5]))
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
    columns = [nic.c[name] for name in NicFacts._fields]
    query = select(nic.c.host, nic.c.id, nic.c.first_seen, *columns).where(nic.c.closed.is_(None))
    found: dict[int, list[OpenNic]] = {number: [] for number in hosts}
    for some in chunks(hosts):
        for number, row, seen, *facts in connection.execute(query.where(nic.c.host.in_(some))):
            found[number].append(OpenNic(row, seen, NicFacts(*facts)))
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
