"""The tables of the history in SQLAlchemy Core, with a comment for each.

Audits are numbered in the order in which they were stored. NICs and findings are *intervals*: a row
is valid from the audit ``opened`` up to, but not including, the audit ``closed`` (NULL: still
valid). Unchanged rows are not written again: when something was last seen follows from the last
reading of its host. Times are milliseconds since 1970 (UTC), booleans are 0 and 1. Ids are assigned
by the storing process, which excludes all others while it stores.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
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

NO_RESULT = ("invalid", "generator-limited", "at-ceiling", "not-judged")
"""Verdicts of measurements that show nothing about the NIC."""

notified = Table(
    "notified",
    META,
    Column("channel", Text, primary_key=True, comment="as channels.toml names it"),
    Column("day", Text, primary_key=True, comment="UTC, 2026-11-26"),
    Column("fingerprint", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
    comment="Findings that a channel was told of within the last week.",
)

AT_ONCE = 1024
"""Rows fetched together; fetching them one by one takes twice as long."""
