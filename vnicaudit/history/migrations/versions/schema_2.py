"""Schema 2: measurements."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Add the tables of measurements."""
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
