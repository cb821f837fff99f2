"""Keep a history with the tables of today, for the tests of upgrades to come.

    python -m tests.history.make_schema

writes ``schemas/N.sqlite.sql`` and ``schemas/N.postgresql.sql``, N being the newest schema. To be
run once for each schema, by the code that writes it: never again for an older one.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from tests.history.postgresql import programs, server, url
from vnicaudit.history.history import History
from vnicaudit.history.migrating import NEWEST
from vnicaudit.history.opening import history_to_write
from vnicaudit.history.place import history_place

FOLDER = Path(__file__).parent / "schemas"
_HOSTS = (host("kvm1", "north"), host("kvm2", "south"))


def _slow(number: int) -> TestDomain:
    nic = TestNic(f"52:54:00:00:00:{number:02x}", "e1000", frozenset({"TEST01", "TEST02"}))
    return TestDomain(number, (nic,), found=True)


def fill(history: History) -> None:
    """Three audits: two hosts, one of which fails, guests that come, go and move."""
    first, second = _HOSTS
    days = (
        [reading(first, [_slow(1), _slow(2)], 1), reading(second, [_slow(3)], 1)],
        [reading(first, [_slow(1), _slow(4)], 2), reading(second, [], 2, status="failed")],
        [reading(first, [_slow(1)], 3), reading(second, [_slow(3), _slow(2)], 3)],
    )
    for number, readings in enumerate(days, 1):
        history.store(audit(f"2026010{number}-000000-0000", number, _HOSTS), readings)


def main() -> int:
    """Write both files; the exit code."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "history.db"
        with history_to_write(history_place(str(path), "")) as history:
            fill(history)
        with sqlite3.connect(path) as connection:
            text = "\n".join(connection.iterdump())
    (FOLDER / f"{NEWEST}.sqlite.sql").write_text(text + "\n")
    with server() as folder:
        with history_to_write(history_place(url(folder, "postgres"), "")) as history:
            fill(history)
        command = [str(programs() / "pg_dump"), "--inserts", "--no-owner", url(folder, "postgres")]
        dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in dumped.splitlines() if not line.startswith(("\\", "--"))]
    (FOLDER / f"{NEWEST}.postgresql.sql").write_text("\n".join(filter(None, lines)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
