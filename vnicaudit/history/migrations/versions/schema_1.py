"""Schema 1: audits, hosts, NICs, findings, measurements, and claims of notifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "audit",
        sa.Column(
            "number", sa.Integer(), autoincrement=False, nullable=False, comment="order of storing"
        ),
        sa.Column("id", sa.Text(), nullable=False, comment="as commands name it"),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("finished", sa.BigInteger(), nullable=True),
        sa.Column("basis", sa.Integer(), nullable=False),
        sa.Column(
            "limit_pattern", sa.Text(), nullable=False, comment="that chose hosts; empty: all"
        ),
        sa.Column(
            "host_share", sa.Float(), nullable=False, comment="part of the hosts that was drawn"
        ),
        sa.Column("hosts", sa.Integer(), nullable=False, comment="in the inventory"),
        sa.Column("chosen", sa.Integer(), nullable=False, comment="that were to be read"),
        sa.Column("ok", sa.Integer(), nullable=False, comment="hosts that were read whole"),
        sa.Column(
            "partial", sa.Integer(), nullable=False, comment="… of which something was not read"
        ),
        sa.Column("failed", sa.Integer(), nullable=False, comment="… that were not read"),
        sa.Column("unchanged", sa.Integer(), nullable=False, comment="… read, with nothing new"),
        sa.Column("domains", sa.Integer(), nullable=False, comment="known then, of all hosts"),
        sa.Column("nics", sa.Integer(), nullable=False, comment="known then, of all hosts"),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        comment="One row per audit.",
    )
    op.create_table(
        "basis",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="digest of what is below"),
        sa.Column("version", sa.Text(), nullable=False, comment="of vnicaudit"),
        sa.Column(
            "rules",
            sa.Text(),
            nullable=False,
            comment="ids of the rules that were asked, by blanks",
        ),
        sa.Column(
            "nic_share", sa.Float(), nullable=False, comment="part of the NICs that was drawn"
        ),
        sa.Column("seed", sa.BigInteger(), nullable=True, comment="it was drawn with"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
        comment="What audits went by: equal readings on one basis have equal results.",
    )
    op.create_table(
        "basis_rule",
        sa.Column("basis", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("basis", "rule"),
        comment="The rules of a basis, one each.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "finding",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("problem", sa.Integer(), nullable=False),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.Column("closed", sa.Integer(), nullable=True),
        sa.Column(
            "opened_as",
            sa.Text(),
            nullable=False,
            comment="new, reopened, returned, moved, changed, suppressed, unsuppressed",
        ),
        sa.Column(
            "closed_as",
            sa.Text(),
            nullable=True,
            comment="fixed, gone, moved, changed, suppressed, unsuppressed",
        ),
        sa.Column("first_seen", sa.BigInteger(), nullable=False, comment="ever: never changes"),
        sa.Column(
            "reopened", sa.Integer(), nullable=False, comment="how often it came back after a fix"
        ),
        sa.Column(
            "unlooked",
            sa.Integer(),
            nullable=True,
            comment="the first audit of its host that did not look at it",
        ),
        sa.Column(
            "accepted", sa.SmallInteger(), nullable=False, comment="1 suppressed, 2 in the baseline"
        ),
        sa.Column("reason", sa.Text(), nullable=True, comment="why it is accepted"),
        sa.Column("scope", sa.Text(), nullable=False, comment="domain, host, config, …"),
        sa.Column("subject", sa.Text(), nullable=False, comment="name of the domain, the host, …"),
        sa.Column("uuid", sa.LargeBinary(), nullable=True),
        sa.Column("mac", sa.Text(), nullable=True),
        sa.Column("nic_index", sa.Integer(), nullable=True),
        sa.Column("file", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        comment="Findings, as intervals.",
    )
    op.create_index(
        "finding_closed",
        "finding",
        ["closed"],
        unique=False,
        sqlite_where=sa.text("closed IS NOT NULL"),
        postgresql_where=sa.text("closed IS NOT NULL"),
    )
    op.create_index("finding_fingerprint", "finding", ["fingerprint"], unique=False)
    op.create_index(
        "finding_open",
        "finding",
        ["host"],
        unique=False,
        sqlite_where=sa.text("closed IS NULL"),
        postgresql_where=sa.text("closed IS NULL"),
    )
    op.create_index("finding_opened", "finding", ["opened"], unique=False)
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "tried", sa.Integer(), nullable=True, comment="the last audit that was to read it"
        ),
        sa.Column(
            "read",
            sa.Integer(),
            nullable=True,
            comment="the last audit that read it, whole or in part",
        ),
        sa.Column(
            "whole", sa.Integer(), nullable=True, comment="the last audit that read all of it"
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        comment="One row per host that was ever in an inventory.",
    )
    op.create_table(
        "host_tally",
        sa.Column("host", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("open", sa.Integer(), nullable=False, comment="looked at by its last reading"),
        sa.Column("unlooked", sa.Integer(), nullable=False, comment="open, not looked at by it"),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("host", "owner", "rule", "severity"),
        comment="Findings that are open on a host now, counted.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "inventory",
        sa.Column("host", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("opened", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("closed", sa.Integer(), nullable=True),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False, comment="by blanks"),
        sa.Column(
            "source", sa.Text(), nullable=False, comment="file and line, or command, that named it"
        ),
        sa.PrimaryKeyConstraint("host", "opened"),
        comment="The inventory as it was: intervals.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "nic",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.Column("closed", sa.Integer(), nullable=True),
        sa.Column("opened_as", sa.Text(), nullable=False, comment="new, changed, moved, returned"),
        sa.Column("closed_as", sa.Text(), nullable=True, comment="changed, moved, gone"),
        sa.Column(
            "changed",
            sa.Text(),
            nullable=True,
            comment="the columns that changed when it was opened, by blanks",
        ),
        sa.Column("first_seen", sa.BigInteger(), nullable=False, comment="ever: never changes"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("uuid", sa.LargeBinary(), nullable=True),
        sa.Column("nic_index", sa.Integer(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("arch", sa.Text(), nullable=True),
        sa.Column("machine", sa.Text(), nullable=True),
        sa.Column("vcpus", sa.Integer(), nullable=True),
        sa.Column("model_declared", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True, comment="effective, as all that follow"),
        sa.Column("vhost", sa.SmallInteger(), nullable=True),
        sa.Column("queues", sa.Integer(), nullable=True),
        sa.Column("rx_queue_size", sa.Integer(), nullable=True),
        sa.Column("tx_queue_size", sa.Integer(), nullable=True),
        sa.Column("starts", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        comment="NICs, as intervals.",
    )
    op.create_index(
        "nic_closed",
        "nic",
        ["closed"],
        unique=False,
        sqlite_where=sa.text("closed IS NOT NULL"),
        postgresql_where=sa.text("closed IS NOT NULL"),
    )
    op.create_index("nic_mac", "nic", ["mac"], unique=False)
    op.create_index(
        "nic_open",
        "nic",
        ["host"],
        unique=False,
        sqlite_where=sa.text("closed IS NULL"),
        postgresql_where=sa.text("closed IS NULL"),
    )
    op.create_index("nic_opened", "nic", ["opened"], unique=False)
    op.create_table(
        "problem",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="digest of what is below"),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=True, comment="that a change would set"),
        sa.Column("old", sa.Text(), nullable=True),
        sa.Column("new", sa.Text(), nullable=True),
        sa.Column("safe", sa.SmallInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
        comment="What is wrong, once for all findings that say the same.",
    )
    op.create_table(
        "reading",
        sa.Column("audit", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("host", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False, comment="ok, partial, failed"),
        sa.Column(
            "late",
            sa.SmallInteger(),
            nullable=False,
            comment="1: older than what was known: noted only",
        ),
        sa.Column(
            "unchanged", sa.SmallInteger(), nullable=False, comment="1: as the reading before"
        ),
        sa.Column(
            "failure",
            sa.Text(),
            nullable=True,
            comment="unreachable, refused, authentication, deadline, …",
        ),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("tries", sa.SmallInteger(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "digest", sa.LargeBinary(), nullable=False, comment="of all that was read and judged"
        ),
        sa.Column("domains", sa.Integer(), nullable=False),
        sa.Column("nics", sa.Integer(), nullable=False),
        sa.Column("findings", sa.Integer(), nullable=False),
        sa.Column(
            "accepted", sa.Integer(), nullable=False, comment="suppressed, or in the baseline"
        ),
        sa.Column("skipped", sa.Integer(), nullable=False, comment="judgements that lacked a fact"),
        sa.PrimaryKeyConstraint("audit", "host"),
        comment="One row per audit and host that was to be read.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tally",
        sa.Column("audit", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column(
            "open", sa.Integer(), nullable=False, comment="the audit looked, and there they were"
        ),
        sa.Column(
            "stale", sa.Integer(), nullable=False, comment="open as known, the audit did not look"
        ),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("new", sa.Integer(), nullable=False),
        sa.Column("reopened", sa.Integer(), nullable=False),
        sa.Column("fixed", sa.Integer(), nullable=False),
        sa.Column("gone", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("audit", "site", "owner", "rule", "severity"),
        comment="Findings of the fleet when an audit was stored, counted: what trends are made of.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "benchmark",
        sa.Column("id", sa.Text(), nullable=False, comment="of the measurement"),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("design", sa.Text(), nullable=False, comment="how the arms were mixed"),
        sa.Column("domain", sa.Text(), nullable=True, comment="the guest, where it was one"),
        sa.Column("mac", sa.Text(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        comment="Measurements of vnicaudit bench.",
    )
    op.create_table(
        "benchmark_result",
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("before_arm", sa.Text(), nullable=False),
        sa.Column("after_arm", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column(
            "before_nic", sa.Text(), nullable=True, comment="what the guest's NIC is in that arm"
        ),
        sa.Column("after_nic", sa.Text(), nullable=True),
        sa.Column("is_primary", sa.SmallInteger(), nullable=False),
        sa.Column("before_n", sa.Integer(), nullable=True),
        sa.Column("before_median", sa.Float(), nullable=True),
        sa.Column("after_n", sa.Integer(), nullable=True),
        sa.Column("after_median", sa.Float(), nullable=True),
        sa.Column(
            "percent", sa.Float(), nullable=True, comment="after against before; positive is better"
        ),
        sa.Column("low95", sa.Float(), nullable=True),
        sa.Column("high95", sa.Float(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("benchmark", "workload", "metric", "before_arm", "after_arm"),
        comment="Their comparisons: one metric of one workload, two arms.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "notified",
        sa.Column("channel", sa.Text(), nullable=False, comment="as channels.toml names it"),
        sa.Column("day", sa.Text(), nullable=False, comment="UTC, 2026-11-26"),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "day", "fingerprint"),
        comment="Findings that a channel was told of within the last week.",
        sqlite_with_rowid=False,
    )
