"""How the states of findings and NICs are told, one thing at a time."""

from typing import NamedTuple

import msgspec
import pytest

from tests.history.filled import rows as stored_rows
from tests.history.fleets import TestDomain, TestNic, audit, host, reading, timestamp
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.history import store
from vnicaudit.history.history import History
from vnicaudit.history.rows import milliseconds
from vnicaudit.model.finding import Ref
from vnicaudit.model.fleet import HostReading, InventoryHost
from vnicaudit.model.history import AuditName

A, B = host("kvm1", "north"), host("kvm2", "south")
MAC = "52:54:00:00:00:01"
SLOW = TestDomain(1, (TestNic(MAC, "e1000", frozenset({"TEST01"})),))
FAST = TestDomain(1, (TestNic(MAC),))


class Row(NamedTuple):
    """A finding as the view has it."""

    host: str
    state: str
    reopened: int


def rows(history: History) -> list[Row]:
    """All findings, in the order in which they were written."""
    with history.database.reading() as connection:
        found = connection.exec_driver_sql(
            "SELECT host, state, reopened FROM findings ORDER BY since, host, state"
        )
        return [Row(*one) for one in found]


def states(history: History) -> list[str]:
    return [one.state for one in rows(history)]


class Days:
    """Audits, one a day."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.day = 0

    def audit(self, *readings: HostReading, hosts: tuple[InventoryHost, ...] = (A, B)) -> None:
        """Store one of these readings."""
        self.day += 1
        self.history.store(audit(f"a{self.day}", self.day, hosts), readings)


def test_new_known_fixed_reopened(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    assert states(history) == ["new"]
    days.audit(reading(A, [SLOW], 2))
    assert states(history) == ["known"]
    days.audit(reading(A, [FAST], 3))
    assert states(history) == ["fixed"]
    days.audit(reading(A, [SLOW], 4))
    assert rows(history) == [Row("kvm1", "fixed", 0), Row("kvm1", "reopened", 1)]
    days.audit(reading(A, [SLOW], 5))
    assert states(history) == ["fixed", "known"]


def test_first_seen_never_changes(history: History) -> None:
    days = Days(history)
    for day, domains in enumerate(([SLOW], [FAST], [SLOW], [], [SLOW]), 1):
        days.audit(reading(A, domains, day))
    with history.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT DISTINCT first_seen FROM findings").fetchall()
    assert len(found) == 1
    assert str(found[0][0])[:10] == "2026-01-02"


@pytest.mark.parametrize("status", ["failed", "partial"])
def test_a_host_that_was_not_reached_keeps_its_state(history: History, status: str) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    unread = reading(A, [], 2, status="failed" if status == "failed" else "partial")
    days.audit(unread)
    assert states(history) == ["not looked at"]
    with history.database.reading() as connection:
        query = "SELECT open, stale, fixed, gone FROM trend ORDER BY time"
        counts = connection.exec_driver_sql(query).fetchall()
    assert [tuple(one) for one in counts] == [(1, 0, 0, 0), (0, 1, 0, 0)]


def test_a_domain_that_is_gone_is_not_fixed(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    days.audit(reading(A, [], 2))
    assert states(history) == ["gone"]
    days.audit(reading(A, [SLOW], 3))
    assert rows(history) == [Row("kvm1", "gone", 0), Row("kvm1", "returned", 0)]


def test_a_nic_that_was_taken_out_is_gone(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    days.audit(reading(A, [TestDomain(1)], 2))
    assert states(history) == ["gone"]


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_a_migrated_guest_is_nothing_new(
    history: History, order: tuple[InventoryHost, InventoryHost]
) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1), reading(B, [], 1))
    days.audit(*(reading(one, [SLOW] if one is B else [], 2) for one in order))
    assert rows(history) == [Row("kvm1", "moved", 0), Row("kvm2", "moved", 0)]
    with history.database.reading() as connection:
        query = "SELECT host, opened_as, closed_as FROM nics ORDER BY host"
        found = [tuple(one) for one in connection.exec_driver_sql(query)]
    assert found == [("kvm1", "new", "moved"), ("kvm2", "moved", None)]


def test_a_guest_that_migrates_while_its_old_host_is_not_read_counts_once(
    history: History,
) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1), reading(B, [], 1))
    days.audit(reading(A, [], 2, status="failed"), reading(B, [SLOW], 2))
    assert rows(history) == [Row("kvm1", "moved", 0), Row("kvm2", "moved", 0)]
    assert history.details("latest").audit.open == 1
    assert history.details("latest").audit.stale == 0
    days.audit(reading(A, [], 3), reading(B, [SLOW], 3))
    assert rows(history) == [Row("kvm1", "moved", 0), Row("kvm2", "known", 0)]
    assert history.details("latest").audit.gone == 0
    assert [one.state for one in history.drift("a1", "latest").findings] == ["moved"]


def test_a_guest_that_its_old_host_still_has_is_there_again(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1), reading(B, [], 1))
    days.audit(reading(A, [], 2, status="failed"), reading(B, [SLOW], 2))
    days.audit(reading(A, [SLOW], 3), reading(B, [SLOW], 3))
    assert [one.state for one in rows(history)] == ["moved", "known", "returned"]
    assert (history.details("latest").audit.open, history.details("latest").audit.new) == (2, 0)
    days.audit(reading(A, [], 4), reading(B, [SLOW], 4))
    assert [one.state for one in rows(history)] == ["moved", "known", "moved"]
    assert [one.state for one in history.drift("previous", "latest").findings] == ["moved"]


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_a_guest_that_is_on_one_host_more_has_not_moved(
    history: History, order: tuple[InventoryHost, InventoryHost]
) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    days.audit(*(reading(one, [SLOW], 2) for one in order))
    assert rows(history) == [Row("kvm1", "known", 0), Row("kvm2", "new", 0)]
    with history.database.reading() as connection:
        query = "SELECT host, opened_as, closed_as FROM nics ORDER BY host"
        found = [tuple(one) for one in connection.exec_driver_sql(query)]
    assert found == [("kvm1", "new", None), ("kvm2", "new", None)]
    assert (history.details("latest").audit.open, history.details("latest").audit.new) == (2, 1)
    days.audit(reading(A, [], 3), reading(B, [SLOW], 3))
    assert rows(history) == [Row("kvm1", "moved", 0), Row("kvm2", "known", 0)]


def test_other_rules_close_nothing(history: History) -> None:
    history.store(audit("a1", 1, [A]), [reading(A, [SLOW], 1)])
    narrow = reading(A, [SLOW], 2, rules=["TEST02"])
    history.store(audit("a2", 2, [A], rules=["TEST02"]), [narrow])
    assert states(history) == ["not looked at"]
    history.store(audit("a3", 3, [A]), [reading(A, [SLOW], 3)])
    assert states(history) == ["known"]


def test_a_rule_that_was_skipped_for_a_nic_closes_nothing_of_it(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    skipped = TestDomain(1, (TestNic(MAC, "e1000", skipped=frozenset({"TEST01"})),))
    days.audit(reading(A, [skipped], 2))
    assert states(history) == ["not looked at"]
    days.audit(reading(A, [skipped], 3))
    assert states(history) == ["not looked at"]
    days.audit(reading(A, [SLOW], 4))
    assert states(history) == ["known"]
    days.audit(reading(A, [FAST], 5))
    assert states(history) == ["fixed"]


def test_a_sample_of_nics_closes_nothing_else(history: History) -> None:
    history.store(audit("a1", 1, [A]), [reading(A, [SLOW], 1)])
    history.store(audit("a2", 2, [A], nic_share=0.5), [reading(A, [TestDomain(2)], 2)])
    assert states(history) == ["not looked at"]
    with history.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT closed_as FROM nics").fetchall()
    assert [tuple(one) for one in found] == [(None,)]


def test_suppressed_and_back(history: History) -> None:
    days = Days(history)
    accepted = TestDomain(1, (TestNic(MAC, "e1000", frozenset({"TEST01"}), frozenset({"TEST01"})),))
    days.audit(reading(A, [SLOW], 1))
    days.audit(reading(A, [accepted], 2))
    assert states(history) == ["suppressed", "suppressed"]
    days.audit(reading(A, [SLOW], 3))
    assert states(history) == ["suppressed", "unsuppressed", "known"]


def test_a_reading_that_is_older_than_the_last_is_only_noted(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [FAST], 3))
    days.audit(reading(A, [SLOW], 2))
    assert states(history) == []
    with history.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT late FROM readings ORDER BY audit").fetchall()
    assert [tuple(one) for one in found] == [(0,), (1,)]


def test_a_late_reading_that_says_the_same_is_only_noted(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 3))
    stored = history.store(audit("late", 2, [A]), [reading(A, [SLOW], 2)])
    assert (stored.late, stored.unchanged) == (1, 1)
    assert stored.newest_reading == AuditName("a1", timestamp(1).replace(".000", ""))
    assert states(history) == ["not looked at"]
    assert (history.details("latest").audit.open, history.details("latest").audit.stale) == (0, 1)


def test_an_audit_after_the_present_is_not_stored(history: History) -> None:
    with pytest.raises(HistoryError, match="audit a1 is not stored: it ended at "):
        history.store(audit("a1", 20_000, [A]), [reading(A, [SLOW], 20_000)])
    with pytest.raises(UsageError, match="there is no audit 'latest'"):
        history.details("latest")


def test_a_reading_of_the_future_makes_no_other_late(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a clock that was wrong once, nothing is late for ever."""
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    with monkeypatch.context() as patch:
        patch.setattr(store, "_CLOCKS_DIFFER", float("inf"))
        history.store(audit("future", 20_000, [A, B]), [reading(A, [], 20_000)])
    assert states(history) == ["gone"]
    stored = history.store(audit("a3", 3, [A]), [reading(A, [SLOW], 3)])
    assert (stored.late, stored.dropped, stored.hosts_before) == (0, 1, 2)
    assert states(history) == ["gone", "returned"]


@pytest.mark.usefixtures("any_clock")
def test_an_audit_with_a_clock_in_the_future_can_be_removed(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    before = stored_rows(history)
    history.store(audit("future", 90, [A, B]), [reading(A, [], 90)])
    stored = history.store(audit("a3", 3, [A]), [reading(A, [FAST], 3)])
    assert (stored.late, stored.dropped, stored.hosts_before) == (1, 1, 2)
    with pytest.raises(UsageError, match="audit future: later ones build on it; remove a3 first"):
        history.remove("future")
    assert history.remove("a3").audit == "a3"
    assert history.remove("latest").audit == "future"
    after = stored_rows(history)
    # what is compared again, and a host that was named once, stay
    for table in before.keys() - {"reading", "host"}:
        assert after[table] == before[table], table
    assert states(history) == ["new"]
    stored = history.store(audit("a4", 4, [A]), [reading(A, [FAST], 4)])
    assert (stored.number, stored.late, stored.dropped, stored.fixed) == (2, 0, 1, 1)
    assert states(history) == ["fixed"]


def test_an_audit_before_which_all_was_pruned_is_not_removed(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    days.audit(reading(A, [FAST], 2))
    history.prune(milliseconds(timestamp(1.5)))
    with pytest.raises(UsageError, match="audit a2: what was known of kvm1 before it was pruned"):
        history.remove("a2")
    assert states(history) == ["fixed"]


def test_a_changed_nic_says_what_changed(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    days.audit(reading(A, [FAST], 2))
    with history.database.reading() as connection:
        query = "SELECT model, opened_as, closed_as, changed FROM nics ORDER BY since"
        found = [tuple(one) for one in connection.exec_driver_sql(query)]
    changed = "model_declared model vhost rx_queue_size tx_queue_size"
    assert found == [("e1000", "new", "changed", None), ("virtio", "changed", None, changed)]


def test_the_same_audit_twice_is_stored_once(history: History) -> None:
    one = audit("a1", 1, [A])
    assert history.store(one, [reading(A, [SLOW], 1)]).is_new
    again = history.store(one, [reading(A, [SLOW], 1)])
    assert (again.is_new, again.number) == (False, 1)
    assert states(history) == ["new"]


def test_an_unchanged_host_is_one_row(history: History) -> None:
    days = Days(history)
    days.audit(reading(A, [SLOW], 1))
    stored = history.store(audit("b", 2, [A, B]), [reading(A, [SLOW], 2)])
    assert (stored.ok, stored.unchanged) == (1, 1)


def test_a_hostile_definition_costs_nobody_the_audit(history: History) -> None:
    """What no column or index of a database holds: zero bytes, half characters, great numbers."""
    one = reading(A, [SLOW], 1)
    (domain,) = one.audited
    name = "a\0\udcff\U0001f600" + "x" * 9000
    row = msgspec.structs.replace(
        domain.rows[0], domain=name, mac="m\0" * 5000, machine="\udc80", vcpus=10**15
    )
    finding = msgspec.structs.replace(
        domain.findings[0],
        message=name,
        fingerprint="f" * 9000,
        about=Ref("nic", name, None, row.mac),
    )
    judged = msgspec.structs.replace(
        domain, subject=name, uuid="\udcff" * 99, rows=(row,), findings=(finding,)
    )
    hostile = msgspec.structs.replace(one, audited=(judged,), digest="1")
    for day in (1, 2):
        history.store(audit(f"a{day}", day, [A]), [hostile])
    hostile = msgspec.structs.replace(hostile, digest="2", finished=timestamp(3))
    history.store(audit("a3", 3, [A]), [hostile])
    assert states(history) == ["known"]
    with history.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT domain, vcpus, machine FROM nics").fetchall()
    assert [tuple(each) for each in found] == [
        ("a\\x00\\udcff\U0001f600" + "x" * 9000, 2**31 - 1, "\\udc80")
    ]
