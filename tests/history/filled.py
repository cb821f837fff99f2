"""A history of three audits: two hosts, one of which fails, guests that come, go and move."""

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.history.history import History
from vnicaudit.history.tables import META

_HOSTS = (host("kvm1", "north"), host("kvm2", "south"))


def _slow(number: int) -> TestDomain:
    nic = TestNic(f"52:54:00:00:00:{number:02x}", "e1000", frozenset({"TEST01", "TEST02"}))
    return TestDomain(number, (nic,), found=True)


def fill(history: History) -> None:
    """Store the three audits."""
    first, second = _HOSTS
    days = (
        [reading(first, [_slow(1), _slow(2)], 1), reading(second, [_slow(3)], 1)],
        [reading(first, [_slow(1), _slow(4)], 2), reading(second, [], 2, status="failed")],
        [reading(first, [_slow(1)], 3), reading(second, [_slow(3), _slow(2)], 3)],
    )
    for number, readings in enumerate(days, 1):
        history.store(audit(f"2026010{number}-000000-0000", number, _HOSTS), readings)


def rows(history: History) -> dict[str, list[str]]:
    """Every row of every table, as text, in no order."""
    with history.database.reading() as connection:
        return {
            str(table.name): sorted(str(tuple(row)) for row in connection.execute(table.select()))
            for table in META.sorted_tables
        }
