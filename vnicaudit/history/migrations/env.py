"""Run by Alembic: migrates in the transaction that was passed to it."""

from __future__ import annotations

from alembic import context

from vnicaudit.history.tables import META

context.configure(connection=context.config.attributes["connection"], target_metadata=META)
with context.begin_transaction():
    context.run_migrations()
