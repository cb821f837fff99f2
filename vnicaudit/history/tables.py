"""The tables of the history in SQLAlchemy Core, with a comment for each.

Audits are numbered in the order in which they were stored. NICs and findings are *intervals*: a row
is valid from the audit ``opened`` up to, but not including, the audit ``closed`` (NULL: still
valid). Unchanged rows are not written again: when something was last seen follows from the last
reading of its host. Times are milliseconds since 1970 (UTC), booleans are 0 and 1. Ids are assigned
by the storing process, which excludes all others while it stores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    and_,
    func,
    or_,
    select,
)

META = MetaData()

SCHEMA = 1
"""The schema of these tables."""
schema = Table(
    "history_schema",
    META,
    Column("number", Integer, primary_key=True, autoincrement=False),
    comment="The schema of the tables: one row.",
)

_ROW_ID = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite stores a table in the order of an INTEGER PRIMARY KEY, without a separate index."""

basis = Table(
    "basis",
    META,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False, unique=True, comment="digest of what is below"),
    Column("version", Text, nullable=False, comment="of vnicaudit"),
    Column("rules", Text, nullable=False, comment="ids of the rules that were asked, by blanks"),
    Column("nic_share", Float, nullable=False, comment="part of the NICs that was drawn"),
    Column("seed", BigInteger, comment="it was drawn with"),
    comment="What audits went by: equal readings on one basis have equal results.",
)

basis_rule = Table(
    "basis_rule",
    META,
    Column("basis", Integer, primary_key=True, autoincrement=False),
    Column("rule", Text, primary_key=True),
    sqlite_with_rowid=False,
    comment="The rules of a basis, one each.",
)

audit = Table(
    "audit",
    META,
    Column("number", Integer, primary_key=True, autoincrement=False, comment="order of storing"),
    Column("id", Text, nullable=False, unique=True, comment="as commands name it"),
    Column("started", BigInteger, nullable=False),
    Column("finished", BigInteger),
    Column("basis", Integer, nullable=False),
    Column("limit_pattern", Text, nullable=False, comment="that chose hosts; empty: all"),
    Column("host_share", Float, nullable=False, comment="part of the hosts that was drawn"),
    Column("hosts", Integer, nullable=False, comment="in the inventory"),
    Column("chosen", Integer, nullable=False, comment="that were to be read"),
    Column("ok", Integer, nullable=False, comment="hosts that were read whole"),
    Column("partial", Integer, nullable=False, comment="… of which something was not read"),
    Column("failed", Integer, nullable=False, comment="… that were not read"),
    Column("unchanged", Integer, nullable=False, comment="… read, with nothing new"),
    Column("domains", Integer, nullable=False, comment="known then, of all hosts"),
    Column("nics", Integer, nullable=False, comment="known then, of all hosts"),
    comment="One row per audit.",
)

host = Table(
    "host",
    META,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("tried", Integer, comment="the last audit that was to read it"),
    Column("read", Integer, comment="the last audit that read it, whole or in part"),
    Column("whole", Integer, comment="the last audit that read all of it"),
    comment="One row per host that was ever in an inventory.",
)

inventory = Table(
    "inventory",
    META,
    Column("host", Integer, primary_key=True, autoincrement=False),
    Column("opened", Integer, primary_key=True, autoincrement=False),
    Column("closed", Integer),
    Column("uri", Text, nullable=False),
    Column("site", Text, nullable=False),
    Column("groups", Text, nullable=False, comment="by blanks"),
    Column("source", Text, nullable=False, comment="file and line, or command, that named it"),
    sqlite_with_rowid=False,
    comment="The inventory as it was: intervals.",
)

reading = Table(
    "reading",
    META,
    Column("audit", Integer, primary_key=True, autoincrement=False),
    Column("host", Integer, primary_key=True, autoincrement=False),
    Column("status", Text, nullable=False, comment="ok, partial, failed"),
    Column(
        "late", SmallInteger, nullable=False, comment="1: older than what was known: noted only"
    ),
    Column("unchanged", SmallInteger, nullable=False, comment="1: as the reading before"),
    Column("failure", Text, comment="unreachable, refused, authentication, deadline, …"),
    Column("error", Text),
    Column("tries", SmallInteger, nullable=False),
    Column("read_at", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="of all that was read and judged"),
    Column("domains", Integer, nullable=False),
    Column("nics", Integer, nullable=False),
    Column("findings", Integer, nullable=False),
    Column("accepted", Integer, nullable=False, comment="suppressed, or in the baseline"),
    Column("skipped", Integer, nullable=False, comment="judgements that lacked a fact"),
    sqlite_with_rowid=False,
    comment="One row per audit and host that was to be read.",
)
WAS_READ = (reading.c.status != "failed") & (reading.c.late == 0)
"""Readings that changed what is known of their host."""

nic = Table(
    "nic",
    META,
    Column("id", _ROW_ID, primary_key=True, autoincrement=False),
    Column("host", Integer, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("closed", Integer),
    Column("opened_as", Text, nullable=False, comment="new, changed, moved, returned"),
    Column("closed_as", Text, comment="changed, moved, gone"),
    Column("changed", Text, comment="the columns that changed when it was opened, by blanks"),
    Column("first_seen", BigInteger, nullable=False, comment="ever: never changes"),
    Column("domain", Text, nullable=False),
    Column("uuid", LargeBinary),
    Column("nic_index", Integer, nullable=False),
    Column("mac", Text),
    Column("type", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("arch", Text),
    Column("machine", Text),
    Column("vcpus", Integer),
    Column("model_declared", Text),
    Column("model", Text, comment="effective, as all that follow"),
    Column("vhost", SmallInteger),
    Column("queues", Integer),
    Column("rx_queue_size", Integer),
    Column("tx_queue_size", Integer),
    Column("starts", SmallInteger, nullable=False),
    comment="NICs, as intervals.",
)

problem = Table(
    "problem",
    META,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False, unique=True, comment="digest of what is below"),
    Column("rule", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("confidence", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("field", Text, comment="that a change would set"),
    Column("old", Text),
    Column("new", Text),
    Column("safe", SmallInteger),
    comment="What is wrong, once for all findings that say the same.",
)

finding = Table(
    "finding",
    META,
    Column("id", _ROW_ID, primary_key=True, autoincrement=False),
    Column("host", Integer, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("problem", Integer, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("closed", Integer),
    Column(
        "opened_as",
        Text,
        nullable=False,
        comment="new, reopened, returned, moved, changed, suppressed, unsuppressed",
    ),
    Column("closed_as", Text, comment="fixed, gone, moved, changed, suppressed, unsuppressed"),
    Column("first_seen", BigInteger, nullable=False, comment="ever: never changes"),
    Column("reopened", Integer, nullable=False, comment="how often it came back after a fix"),
    Column("unlooked", Integer, comment="the first audit of its host that did not look at it"),
    Column("accepted", SmallInteger, nullable=False, comment="1 suppressed, 2 in the baseline"),
    Column("reason", Text, comment="why it is accepted"),
    Column("scope", Text, nullable=False, comment="domain, host, config, …"),
    Column("subject", Text, nullable=False, comment="name of the domain, the host, …"),
    Column("uuid", LargeBinary),
    Column("mac", Text),
    Column("nic_index", Integer),
    Column("file", Text),
    comment="Findings, as intervals.",
)

host_tally = Table(
    "host_tally",
    META,
    Column("host", Integer, primary_key=True, autoincrement=False),
    Column("owner", Text, primary_key=True),
    Column("rule", Text, primary_key=True),
    Column("severity", Text, primary_key=True),
    Column("open", Integer, nullable=False, comment="looked at by its last reading"),
    Column("unlooked", Integer, nullable=False, comment="open, not looked at by it"),
    Column("accepted", Integer, nullable=False),
    sqlite_with_rowid=False,
    comment="Findings that are open on a host now, counted.",
)

tally = Table(
    "tally",
    META,
    Column("audit", Integer, primary_key=True, autoincrement=False),
    Column("site", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("rule", Text, primary_key=True),
    Column("severity", Text, primary_key=True),
    Column("open", Integer, nullable=False, comment="the audit looked, and there they were"),
    Column("stale", Integer, nullable=False, comment="open as known, the audit did not look"),
    Column("accepted", Integer, nullable=False),
    Column("new", Integer, nullable=False),
    Column("reopened", Integer, nullable=False),
    Column("fixed", Integer, nullable=False),
    Column("gone", Integer, nullable=False),
    sqlite_with_rowid=False,
    comment="Findings of the fleet when an audit was stored, counted: what trends are made of.",
)

for _table in (nic, finding):
    _open, _closed = _table.c.closed.is_(None), _table.c.closed.is_not(None)
    Index(f"{_table}_open", _table.c.host, sqlite_where=_open, postgresql_where=_open)
    Index(f"{_table}_closed", _table.c.closed, sqlite_where=_closed, postgresql_where=_closed)
    Index(f"{_table}_opened", _table.c.opened)
Index("nic_mac", nic.c.mac)
Index("finding_fingerprint", finding.c.fingerprint)

benchmark = Table(
    "benchmark",
    META,
    Column("id", Text, primary_key=True, comment="of the measurement"),
    Column("started", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("design", Text, nullable=False, comment="how the arms were mixed"),
    Column("domain", Text, comment="the guest, where it was one"),
    Column("mac", Text),
    Column("verdict", Text),
    comment="Measurements of vnicaudit bench.",
)

benchmark_result = Table(
    "benchmark_result",
    META,
    Column("benchmark", Text, primary_key=True),
    Column("workload", Text, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("before_arm", Text, primary_key=True),
    Column("after_arm", Text, primary_key=True),
    Column("unit", Text, nullable=False),
    Column("before_nic", Text, comment="what the guest's NIC is in that arm"),
    Column("after_nic", Text),
    Column("is_primary", SmallInteger, nullable=False),
    Column("before_n", Integer),
    Column("before_median", Float),
    Column("after_n", Integer),
    Column("after_median", Float),
    Column("percent", Float, comment="after against before; positive is better"),
    Column("low95", Float),
    Column("high95", Float),
    Column("verdict", Text, nullable=False),
    sqlite_with_rowid=False,
    comment="Their comparisons: one metric of one workload, two arms.",
)

notified = Table(
    "notified",
    META,
    Column("channel", Text, primary_key=True, comment="as channels.toml names it"),
    Column("day", Text, primary_key=True, comment="UTC, 2026-11-26"),
    Column("fingerprint", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
    comment="Findings that a channel was told of within the last week.",
)


# Matches items that look alike between a state before and a state after.


K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
U = TypeVar("U")


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Values by key, in their original order."""
    groups: dict[K, list[V]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def matched(
    old: Sequence[tuple[Hashable, T]], new: Sequence[tuple[Hashable, U]]
) -> Iterator[tuple[T | None, U | None]]:
    """Pair items, each given with its state: first those with equal states, then the others in
    order; None if one side has fewer. The work grows linearly with their number."""
    if not (old and new):
        yield from zip_longest((one for _state, one in old), (one for _state, one in new))
        return
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in reversed(range(len(old))):
        waiting[old[place][0]].append(place)
    others = []
    for state, after in new:
        if same := waiting.get(state):
            yield old[same.pop()][1], after
        else:
            others.append(after)
    left = sorted(place for some in waiting.values() for place in some)
    yield from zip_longest((old[place][1] for place in left), others)


# Two states of one history: what exists in only one of two audits, and where it is in the other.


AT_ONCE = 1024
"""Rows fetched together; fetching them one by one takes twice as long."""


class HostName(NamedTuple):
    """A host, and its site in the newest inventory."""

    name: str
    site: str


class AuditPair(NamedTuple):
    """The numbers of two audits, and what both covered: numbers of hosts, and rules. ``names``: of
    all hosts."""

    before: int
    after: int
    hosts: frozenset[int]
    rules: frozenset[str]
    names: Mapping[int, HostName]

    def held_before(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the first audit, but not at the second."""
        closed = table.c.closed.between(self.before + 1, self.after)
        return and_(closed, table.c.opened <= self.before)

    def held_after(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the second audit, but not at the first."""
        return and_(table.c.opened > self.before, self.at_second(table))

    def at_second(self, table: FromClause) -> ColumnElement[bool]:
        """Rows that exist at the second audit."""
        still = or_(table.c.closed.is_(None), table.c.closed > self.after)
        return and_(table.c.opened <= self.after, still)

    def order(self, host: int) -> tuple[bool, str]:
        """Sort key for hosts: compared ones first, then by name."""
        return host not in self.hosts, self.names[host].name


def host_names(connection: Connection) -> dict[int, HostName]:
    """The names of all hosts."""
    here = and_(inventory.c.host == host.c.id, inventory.c.closed.is_(None))
    query = select(host.c.id, host.c.name, func.coalesce(inventory.c.site, ""))
    rows = connection.execute(query.outerjoin(inventory, here))
    return {number: HostName(name, site) for number, name, site in rows}


class OneSided(NamedTuple):
    """An interval of something that is on its host in only one of the two audits. ``key``: its key
    on any host. ``state``: distinguishes it from others with the same key."""

    id: int
    host: int
    key: Hashable
    state: Hashable = None
    place: int = 0


Move = tuple["OneSided | None", "OneSided | None"]


def across_hosts(
    pair: AuditPair, ended: Sequence[OneSided], begun: Sequence[OneSided]
) -> Iterator[Move]:
    """Pair intervals that end on a host with intervals of the same key that begin on another host,
    if at least one of the two hosts is compared; None: without a partner."""
    both = {one.key for one in ended} & {one.key for one in begun}
    yield from ((one, None) for one in ended if one.key not in both and one.host in pair.hosts)
    yield from ((None, one) for one in begun if one.key not in both and one.host in pair.hosts)
    old, new = (grouped((one.key, one) for one in some if one.key in both)
                for some in (ended, begun))  # fmt: skip
    for key, some in old.items():
        for was, now in matched(_in_order(pair, some), _in_order(pair, new[key])):
            if any(one is not None and one.host in pair.hosts for one in (was, now)):
                yield was, now


def _in_order(pair: AuditPair, some: Sequence[OneSided]) -> list[tuple[Hashable, OneSided]]:
    """The intervals in order, each with its state."""
    in_order = sorted(some, key=lambda one: (pair.order(one.host), one.place, one.id))
    return [(one.state, one) for one in in_order]
