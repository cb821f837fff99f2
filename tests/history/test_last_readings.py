"""The last reading of each host, and what it left open, as a plan asks for it."""

import random
import socket
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine.interfaces import ExecutionContext

from tests.history.conftest import Server
from tests.history.fleets import TestDomain, TestNic, audit, fingerprint, host, reading, timestamp
from tests.regressions.hostile_input.growth import MOST, ratio
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.history import history_to_write, optional_history
from vnicaudit.history.history import History
from vnicaudit.history.place import HistoryPlace, history_place
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.ranking import LastReading, OpenMark

A, B, C = host("kvm1"), host("kvm2"), host("kvm3")
MAC = "52:54:00:00:{:02x}:{:02x}"


def guest(number: int, found: str = "", accepted: str = "") -> TestDomain:
    """A guest with one NIC and findings of these rules, by their numbers."""
    rules = (frozenset(f"TEST0{one}" for one in some) for some in (found, accepted))
    return TestDomain(number, (TestNic(mac(number), "e1000", *rules),))


def mac(number: int) -> str:
    return MAC.format(number >> 8, number & 255)


def mark(rule: int, number: int) -> str:
    """Of the finding of a rule on a guest."""
    return fingerprint(f"TEST0{rule}", guest(number), mac(number))


def day(number: int) -> str:
    """As the history tells it."""
    return timestamp(number).replace(".000", "")


def test_each_host_is_as_it_was_last_read_and_each_finding_as_old_as_it_is(
    history: History,
) -> None:
    hosts = (A, B, C)
    history.store(
        audit("a1", 1, hosts),
        [reading(A, [guest(1, "1"), guest(4, "1")], 1), reading(B, [guest(2, "12", "2")], 1),
         reading(C, [], 1, status="failed")],
    )  # fmt: skip
    history.store(
        audit("a2", 2, hosts),
        [reading(A, [guest(1, "12")], 2), reading(B, [], 2, status="failed"),
         reading(C, [], 2, status="failed")],
    )  # fmt: skip
    every = [mark(rule, number) for rule in (1, 2, 3) for number in (1, 2, 4)]
    found = history.last_readings(["kvm1", "kvm2", "kvm3", "none"], every)
    rules = frozenset({"TEST01", "TEST02", "TEST03", "TEST04"})
    assert found.hosts == {
        "kvm1": LastReading(
            host="kvm1", read_at=day(2), domains=1, nics=1, findings=2, rules=rules
        ),
        "kvm2": LastReading(
            host="kvm2", read_at=day(1), domains=1, nics=1, findings=1, rules=rules
        ),
    }  # fmt: skip
    assert found.marks == {
        mark(1, 1): (OpenMark("kvm1", day(1), is_accepted=False),),
        mark(2, 1): (OpenMark("kvm1", day(2), is_accepted=False),),
        mark(1, 2): (OpenMark("kvm2", day(1), is_accepted=False),),
        mark(2, 2): (OpenMark("kvm2", day(1), is_accepted=True),),
    }


def test_a_guest_that_moved_keeps_its_findings_and_a_part_tells_of_no_rule(
    history: History,
) -> None:
    history.store(audit("a1", 1, (A, B)), [reading(A, [guest(1, "1")], 1), reading(B, [], 1)])
    part = reading(B, [guest(2, "1")], 2, status="partial")
    history.store(audit("a2", 2, (A, B), chosen=["kvm2"]), [part])
    found = history.last_readings(["kvm2"], [mark(1, 1), mark(1, 2)])
    assert found.marks[mark(1, 1)] == (OpenMark("", day(1), is_accepted=False),)
    assert [one.host for one in found.marks[mark(1, 2)]] == ["kvm2"]
    assert found.hosts["kvm2"].rules == frozenset()


def test_a_history_without_an_audit_knows_nothing(history: History) -> None:
    assert history.last_readings(["kvm1"], [mark(1, 1)]) == ({}, {})


def statements(history: History, names: list[str], marks: Iterable[str]) -> int:
    """How many it takes."""
    seen: list[str] = []

    def note(*about: object) -> None:
        seen.append(str(about[2]))

    with history.database.reading() as connection:
        engine = connection.engine
    event.listen(engine, "before_cursor_execute", note)
    history.last_readings(names, list(marks))
    event.remove(engine, "before_cursor_execute", note)
    return len(seen)


def fleet(history: History, hosts: int, guests: int) -> tuple[list[InventoryHost], list[str]]:
    """So many hosts of so many guests; the fingerprints of their findings."""
    every = [host(f"h{number}") for number in range(hosts)]
    readings = [
        reading(one, [guest(place * guests + each, "1") for each in range(guests)], 1)
        for place, one in enumerate(every)
    ]
    history.store(audit("a1", 1, every), readings)
    return every, [mark(1, number) for number in range(hosts * guests)]


def test_the_number_of_statements_does_not_grow_with_the_findings(tmp_path: Path) -> None:
    with history_to_write(history_place(None, tmp_path / "state")) as history:
        every, marks = fleet(history, 20, 40)
        names = [one.name for one in every]
        few = statements(history, names[:2], marks[:5])
        assert statements(history, names, marks) == few <= 6


def test_findings_of_many_hosts_are_not_fetched_at_once(history: History) -> None:
    hosts, marks = fleet(history, 2, 2)
    pieces: list[bool] = []

    def note(*about: object) -> None:
        _, _, statement, _, context, _ = about
        if "FROM finding" in str(statement) and isinstance(context, ExecutionContext):
            pieces.append("yield_per" in context.execution_options)

    with history.database.reading() as connection:
        engine = connection.engine
    event.listen(engine, "before_cursor_execute", note)
    found = history.last_readings([hosts[0].name], marks)
    event.remove(engine, "before_cursor_execute", note)
    assert (len(found.marks), pieces) == (4, [True, True])  # of the host, and elsewhere


def test_findings_are_looked_up_in_time_that_grows_with_them(tmp_path: Path) -> None:
    names, marks = {}, {}
    for hosts in (10, 80):
        place = history_place(None, tmp_path / str(hosts))
        with history_to_write(place) as history:
            every, marks[hosts] = fleet(history, hosts, 20)
            names[hosts] = [one.name for one in every]
            random.Random(hosts).shuffle(marks[hosts])

    def looked_up(hosts: int) -> None:
        with optional_history(history_place(None, tmp_path / str(hosts))) as history:
            found = history.last_readings(names[hosts], marks[hosts])
        assert len(found.marks) == hosts * 20

    assert ratio(looked_up, 10, 80) <= MOST


def test_a_table_that_somebody_locks_is_not_waited_for(postgresql: Server) -> None:
    place = history_place(postgresql.migrated(), "")
    with history_to_write(place) as holder, holder.database.writing() as connection:
        connection.exec_driver_sql("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE")
        with (
            pytest.raises(HistoryError, match="lock timeout"),
            optional_history(place, 0) as history,
        ):
            history.last_readings(["kvm1"], [])


def test_a_database_that_accepts_and_stays_silent_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "86400")  # if this counted, the test would not end
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = history_place(f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/db", "")
        assert "timeout expired" in refusal(place, HistoryError)


def older(path: Path) -> HistoryPlace:
    """A history of another schema."""
    place = history_place(str(path), "")
    with history_to_write(place):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE history_schema SET number = 0")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, which can be locked whole
    return place


def refusal(place: HistoryPlace, error: type[Exception]) -> str:
    """Why it cannot be asked beside other work."""
    with pytest.raises(error) as caught, optional_history(place, 0):
        pass
    return str(caught.value)


def test_beside_other_work_nothing_is_made_or_waited_for(tmp_path: Path) -> None:
    none = history_place(None, tmp_path / "none")
    assert "nothing is stored there yet" in refusal(none, UsageError)
    assert not (tmp_path / "none").exists()
    old = older(tmp_path / "old.db")
    before = (tmp_path / "old.db").read_bytes()
    assert "its tables have schema 0" in refusal(old, UsageError)
    assert (tmp_path / "old.db").read_bytes() == before
    (tmp_path / "broken.db").write_text("no database" * 100)
    assert "not a database" in refusal(history_place(f"{tmp_path}/broken.db", ""), HistoryError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.db", "old.db"]
    holder = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert "locked" in refusal(old, HistoryError)
    holder.close()
