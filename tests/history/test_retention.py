"""What is old is removed, and what holds stays."""

from tests.history.fleets import TestDomain, TestNic, audit, host, reading, timestamp
from vnicaudit.history.history import History, Pruned
from vnicaudit.history.rows import milliseconds

A, B = host("kvm1"), host("kvm2")


def slow(number: int) -> TestDomain:
    return TestDomain(
        number, (TestNic(f"52:54:00:00:00:{number:02x}", "e1000", frozenset({"TEST01"})),)
    )


def fill(history: History) -> None:
    """Ten days: guest 1 stays, guest 2 goes on day 3, B is read on day 1 only."""
    for day in range(1, 11):
        guests = [slow(1)] + ([slow(2)] if day < 3 else [])
        second = reading(B, [slow(9)], day, status="ok" if day == 1 else "failed")
        history.store(audit(f"a{day}", day, (A, B)), [reading(A, guests, day), second])


def test_ended_ones_and_audits_go_and_open_ones_stay(history: History) -> None:
    fill(history)
    pruned = history.prune(milliseconds(timestamp(8)))
    # the audits on which open intervals began, and the last reading of B, stay
    assert pruned == Pruned(audits=6, readings=13, nics=1, findings=1)
    status = history.status()
    assert [one.id for one in status.audits] == ["a10", "a9", "a8", "a1"]
    with history.database.reading() as connection:
        query = "SELECT host, subject, state, first_seen FROM findings ORDER BY subject"
        rows = [(*row[:3], str(row[3])[:10]) for row in connection.exec_driver_sql(query)]
    first = "2026-01-02"
    assert rows == [("kvm1", "vm1", "known", first), ("kvm2", "vm9", "not looked at", first)]
    assert status.stale[0].read_at == timestamp(1).replace(".000", "")


def test_storing_goes_on_after_it(history: History) -> None:
    fill(history)
    history.prune(milliseconds(timestamp(100)))
    assert [one.id for one in history.status().audits] == ["a10", "a1"]
    stored = history.store(audit("b", 11, (A, B)), [reading(A, [], 11), reading(B, [slow(9)], 11)])
    assert (stored.number, stored.gone, stored.new) == (11, 1, 0)


def test_an_empty_history_can_be_pruned(history: History) -> None:
    assert history.prune(milliseconds(timestamp(1))) == Pruned(0, 0, 0, 0)
