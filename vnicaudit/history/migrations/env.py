"""Run by Alembic: the migrations are made in the transaction that it is handed."""

from __future__ import annotations

from alembic import context

from vnicaudit.history.tables import META

context.configure(connection=context.config.attributes["connection"], target_metadata=META)
with context.begin_transaction():
    context.run_migrations()
