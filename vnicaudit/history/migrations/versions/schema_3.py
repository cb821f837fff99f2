"""Schema 3: claims of notifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Add the table of claims."""
    op.create_table(
        "notified",
        sa.Column("channel", sa.Text(), nullable=False, comment="as channels.toml names it"),
        sa.Column("day", sa.Text(), nullable=False, comment="UTC, 2026-11-26"),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "day", "fingerprint"),
        comment="Findings that a channel was told of within the last week.",
        sqlite_with_rowid=False,
    )
