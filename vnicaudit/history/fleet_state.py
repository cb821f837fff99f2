"""The state of a fleet, host by host, at one moment, for a page of the whole history; for plans,
the last reading of each host, and the findings that were open after it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from vnicaudit.history.audits import summaries
from vnicaudit.history.hosts import chunks
from vnicaudit.history.place import NothingStoredError
from vnicaudit.history.rows import (
    FindingInterval,
    NicColumns,
    finding_intervals,
    fingerprint_bytes,
    stored_bytes,
    time_text,
    uuid_text,
)
from vnicaudit.history.tables import (
    NO_RESULT,
    audit,
    basis_rule,
    benchmark,
    benchmark_result,
    finding,
    host,
    inventory,
    nic,
    reading,
)
from vnicaudit.history.transitions import grouped
from vnicaudit.model.finding import VIRTIO, Location
from vnicaudit.model.fleet import HostStatus
from vnicaudit.model.history import (
    FindingRecord,
    FleetHost,
    FleetSummary,
    NicMeasurement,
)
from vnicaudit.model.nic import KNOWN, NONE, UNKNOWN, Resolved
from vnicaudit.model.ranking import LastReading, LastReadings, OpenMark
from vnicaudit.model.report import NicRow

# The NICs of hosts as the history knows them, in the state of their last reading.

T = TypeVar("T", str, bool, int)

_OWN_PATH = frozenset({"vhostuser", "vdpa", "hostdev"})
_KEPT = "as last read; the history does not store reasons"


def _row(nic: NicColumns, host: FleetHost) -> NicRow:
    is_own = nic.type in _OWN_PATH or nic.origin == "hostdev"
    model = _fact(nic.model, is_own)
    vhost = None if nic.vhost is None else bool(nic.vhost)
    no_vhost = is_own or (nic.model is not None and nic.model not in VIRTIO)
    return NicRow(
        domain=nic.domain, uuid=uuid_text(nic.uuid), index=nic.nic_index, mac=nic.mac,
        type=nic.type, actual_type=nic.type, origin=nic.origin, owner=nic.owner, arch=nic.arch,
        machine=nic.machine, vcpus=nic.vcpus, active=None, target_dev=None,
        model=replace(model, declared=nic.model_declared), vhost=_fact(vhost, no_vhost),
        queues=_fact(nic.queues, no_vhost), rx_queue_size=_fact(nic.rx_queue_size, no_vhost),
        tx_queue_size=_fact(nic.tx_queue_size, no_vhost), starts=bool(nic.starts),
        location=Location(host.uri),
    )  # fmt: skip


def _fact(value: T | None, is_absent: bool) -> Resolved[T]:
    state = KNOWN if value is not None else NONE if is_absent else UNKNOWN
    return Resolved(None, value, _KEPT, state)


AUDITS = 60
"""Audits of the trend; findings closed by older ones are not listed."""
SETTLED = 20_000
"""Maximum findings listed as fixed, gone or suppressed."""
_MEASURED = 10_000
_HOSTS_AT_ONCE = 64
_STATUS: dict[str, HostStatus] = {"ok": "ok", "partial": "partial", "failed": "failed"}
_OPENED = ("new", "reopened", "returned", "moved")
_ENDED = ("fixed", "gone")


class FleetState:
    """Reads the state in parts, in one transaction, so that all parts are consistent. Raises
    NothingStoredError if no audit is stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        query = select(audit.c.number, audit.c.basis).order_by(audit.c.number.desc()).limit(1)
        newest = connection.execute(query).one_or_none()
        if newest is None:
            raise NothingStoredError("the history has no audit yet; run `vnicaudit audit -i`")
        self._newest, self._basis = int(newest[0]), int(newest[1])
        rules = select(basis_rule.c.rule).where(basis_rule.c.basis == self._basis)
        self._rules = frozenset(str(rule) for rule in connection.execute(rules).scalars())

    def mark(self) -> tuple[int, ...]:
        """Numbers that change whenever anything of the state changes."""
        parts = (
            select(func.count()).select_from(audit),
            select(func.count()).select_from(benchmark),
        )
        counts = [int(self._connection.execute(part).scalar() or 0) for part in parts]
        return (self._newest, *counts)

    def summary(self) -> FleetSummary:
        """The newest audit and the audits before it."""
        audits = summaries(self._connection, most=AUDITS)
        n = nic.c
        added = and_(n.opened == self._newest, n.opened_as.in_(("new", "returned")))
        removed = and_(n.closed == self._newest, n.closed_as == "gone")
        return FleetSummary(
            newest=audits[0],
            audits=tuple(reversed(audits)),
            rules=tuple(sorted(self._rules)),
            nics_added=self._count(added),
            nics_removed=self._count(removed),
        )

    def hosts(self) -> list[FleetHost]:
        """The hosts of the inventory, by name, with their last reading and last try."""
        h, i = host.c, inventory.c
        last, tried, of = reading.alias(), reading.alias(), audit.alias()
        query = (
            select(h.id, h.name, i.uri, i.site, h.tried, h.read, of.c.id, last.c.read_at)
            .add_columns(tried.c.status, tried.c.error)
            .select_from(host)
            .join(inventory, and_(i.host == h.id, i.closed.is_(None)))
            .outerjoin(last, and_(last.c.audit == h.read, last.c.host == h.id))
            .outerjoin(of, of.c.number == h.read)
            .outerjoin(tried, and_(tried.c.audit == h.tried, tried.c.host == h.id))
            .order_by(h.name)
        )
        return [
            FleetHost(
                id=number,
                name=name,
                uri=uri,
                site=site,
                audit=named,
                read_at=None if read_at is None else time_text(read_at),
                status=_STATUS.get(status, "failed"),
                error=error or "",
                is_fresh=read == self._newest,
                is_tried=tried == self._newest,
            )
            for number, name, uri, site, tried, read, named, read_at, status, error
            in self._connection.execute(query)
        ]  # fmt: skip

    def open_on(
        self, hosts: Sequence[FleetHost]
    ) -> Iterator[tuple[FleetHost, list[FindingRecord]]]:
        """Each host with its open findings, in their order; accepted ones are left out."""
        f = finding.c
        for some in chunks(hosts, _HOSTS_AT_ONCE):
            numbers = f.host.in_([one.id for one in some])
            here = and_(numbers, f.closed.is_(None), f.accepted == 0)
            found = grouped(self._records(here, f.host, f.id))
            for one in some:
                yield one, found.pop(one.id, [])

    def nics_on(self, one: FleetHost) -> list[NicRow]:
        """The NICs of a host, guest by guest."""
        n = nic.c
        query = select(*(n[name] for name in NicColumns._fields))
        query = query.where(n.host == one.id, n.closed.is_(None))
        rows = self._connection.execute(query.order_by(n.domain, n.uuid, n.nic_index))
        return [_row(NicColumns._make(facts), one) for facts in rows]

    def settled(self) -> list[FindingRecord]:
        """Findings that were fixed or gone in the audits of the trend and did not come back, newest
        first; then those that are currently suppressed."""
        first = select(audit.c.number).order_by(audit.c.number.desc()).limit(AUDITS).subquery()
        oldest = self._connection.execute(select(func.min(first.c.number))).scalar()
        f, again = finding.c, finding.alias()
        came_back = exists().where(again.c.fingerprint == f.fingerprint, again.c.closed.is_(None))
        ended = and_(f.closed >= oldest, f.closed_as.in_(_ENDED), f.accepted == 0, ~came_back)
        accepted = and_(f.closed.is_(None), f.accepted != 0)
        found: dict[str, FindingRecord] = {}
        for condition, order in ((ended, f.closed.desc()), (accepted, f.opened.desc())):
            for _host, one in self._records(condition, order, f.id, most=SETTLED):
                found.setdefault(one.fingerprint, one)
        return list(found.values())[:SETTLED]

    def measurements(self) -> list[NicMeasurement]:
        """Imported measurements of guests' NICs, newest first."""
        b, r = benchmark.c, benchmark_result.c
        query = (
            select(b.domain, b.mac, b.started, r.workload, r.metric, r.before_nic, r.after_nic)
            .add_columns(r.percent, r.low95, r.high95)
            .join(benchmark_result, r.benchmark == b.id)
            .where(b.domain.is_not(None), b.mac.is_not(None), r.is_primary == 1)
            .where(r.percent.is_not(None), r.verdict.not_in(NO_RESULT))
            .order_by(b.started.desc(), b.id, r.workload, r.metric)
            .limit(_MEASURED)
        )
        return [
            NicMeasurement(
                domain=domain, mac=mac, started=time_text(started), workload=workload,
                metric=metric, before_nic=before, after_nic=after, percent=percent, low95=low,
                high95=high,
            )
            for domain, mac, started, workload, metric, before, after, percent, low, high
            in self._connection.execute(query)
        ]  # fmt: skip

    def _count(self, condition: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(nic).where(condition)
        return int(self._connection.execute(query).scalar() or 0)

    def _records(
        self, condition: ColumnElement[bool], *order: ColumnElement[object], most: int | None = None
    ) -> Iterator[tuple[int, FindingRecord]]:
        """The findings that match the condition on hosts of the inventory, each with the number of
        its host."""
        listed = and_(inventory.c.host.is_not(None), condition)
        for one in finding_intervals(self._connection, listed, *order, most=most):
            yield one.host, one.record(self._state(one))

    def _state(self, one: FindingInterval) -> str:
        """The state according to the newest audit, as in the counts of a trend."""
        if one.closed is not None:
            return "fixed" if one.closed_as == "fixed" else "gone"
        if one.accepted:
            return "suppressed"
        is_fresh = one.read == self._newest and one.rule in self._rules
        if not is_fresh or one.unlooked is not None:
            return "not looked at"
        is_new = one.opened == self._newest and one.opened_as in _OPENED
        return one.opened_as if is_new else "known"


_AT_ONCE = 5_000
"""Findings fetched at once."""


class _ReadHost(NamedTuple):
    """``basis``: of the reading; None: the reading did not cover the whole host."""

    name: str
    read_at: int
    domains: int
    nics: int
    basis: int | None


def last_readings(
    connection: Connection, hosts: Collection[str], fingerprints: Collection[str]
) -> LastReadings:
    """The last readings of these hosts, and the marks of these findings. It takes a few statements,
    plus one for each 500 hosts and each 500 findings not found on them."""
    read = dict(_read_hosts(connection, hosts))
    wanted = {fingerprint_bytes(one): one for one in fingerprints}
    counts: Counter[int] = Counter()
    found: dict[bytes, list[OpenMark]] = defaultdict(list)
    for numbers in chunks(sorted(read)):
        for number, mark, one in _open(connection, finding.c.host.in_(numbers), read):
            counts[number] += not one.is_accepted
            if mark in wanted:
                found[mark].append(one)
    for marks in chunks(sorted(wanted.keys() - found.keys())):  # guests that were elsewhere
        for _number, mark, one in _open(connection, finding.c.fingerprint.in_(marks), read):
            found[mark].append(one)
    rules = _rules(connection, {one.basis for one in read.values() if one.basis is not None})
    hosts = {
        one.name: LastReading(
            host=one.name,
            read_at=time_text(one.read_at),
            domains=int(one.domains),
            nics=int(one.nics),
            findings=counts[number],
            rules=frozenset() if one.basis is None else rules.get(one.basis, frozenset()),
        )
        for number, one in read.items()
    }
    return LastReadings(hosts, {wanted[mark]: tuple(some) for mark, some in found.items()})


def _read_hosts(connection: Connection, names: Collection[str]) -> Iterator[tuple[int, _ReadHost]]:
    """The hosts that were ever read, by number."""
    h, r = host.c, reading.c
    query = (
        select(h.id, h.name, r.read_at, r.domains, r.nics, audit.c.basis, h.read, h.whole)
        .join(reading, (r.audit == h.read) & (r.host == h.id))
        .join(audit, audit.c.number == h.read)
    )
    for some in chunks(sorted(names)):
        for row in connection.execute(query.where(h.name.in_(some))):
            number, name, at, domains, nics, basis, read, whole = row
            yield number, _ReadHost(name, at, domains, nics, basis if read == whole else None)


def _open(
    connection: Connection, condition: ColumnElement[bool], read: Mapping[int, _ReadHost]
) -> Iterator[tuple[int, bytes, OpenMark]]:
    """Open findings: number of the host, fingerprint, and where it is open since when."""
    f = finding.c
    query = select(f.host, f.fingerprint, f.first_seen, f.accepted).where(f.closed.is_(None))
    streamed = query.where(condition).execution_options(yield_per=_AT_ONCE)
    for number, mark, seen, accepted in connection.execute(streamed):
        name = read[number].name if number in read else ""
        yield number, stored_bytes(mark), OpenMark(name, time_text(seen), bool(accepted))


def _rules(connection: Connection, bases: Collection[int]) -> Mapping[int, frozenset[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for some in chunks(sorted(bases)):
        query = select(basis_rule.c.basis, basis_rule.c.rule).where(basis_rule.c.basis.in_(some))
        for number, rule in connection.execute(query):
            found[number].add(rule)
    return {number: frozenset(rules) for number, rules in found.items()}
