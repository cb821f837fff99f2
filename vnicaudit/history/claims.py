"""Claims: channel, finding and day of each notification, shared by all users of the history."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

from sqlalchemy import bindparam, delete, select

from vnicaudit.history.bulk import insert_rows
from vnicaudit.history.database import Database
from vnicaudit.history.rows import fingerprint_bytes, printable
from vnicaudit.history.tables import notified

_DAYS = 7
"""Days for which claims are stored."""


class Claims:
    """Claims of findings. Methods raise HistoryError if claims cannot be stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Claim those of the fingerprints that are not yet claimed for that channel and day
        (``2026-11-26``), and return them."""
        if not findings:
            return frozenset()
        marks, channel = {fingerprint_bytes(text): text for text in findings}, printable(channel)
        n = notified.c
        oldest = date.fromisoformat(day) - timedelta(days=_DAYS)
        known = select(n.fingerprint).where(n.channel == channel, n.day == day)
        with self._database.writing() as connection:
            connection.execute(delete(notified).where(n.day <= oldest.isoformat()))
            for claimed in connection.execute(known).scalars():
                marks.pop(bytes(claimed), None)
            insert_rows(connection, notified, [(channel, day, mark) for mark in sorted(marks)])
        return frozenset(marks.values())

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Withdraw claims: the message was certainly not received."""
        if not findings:
            return
        n = notified.c
        ours = (n.channel == printable(channel), n.day == day)
        statement = delete(notified).where(*ours, n.fingerprint == bindparam("mark"))
        with self._database.writing() as connection:
            connection.execute(statement, [{"mark": fingerprint_bytes(one)} for one in findings])
