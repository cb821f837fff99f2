"""Whatever is damaged in a history's file, its queries end in a sentence."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.history.fleets import TestDomain, TestNic, audit, drawn, host, reading, seeds
from vnicaudit.cli.fleet.serve import history_page, severity_of
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_read, history_to_write
from vnicaudit.history.history import History
from vnicaudit.history.place import history_place
from vnicaudit.model.history import TrendRequest

HOSTS = tuple(host(f"kvm{number}", f"site{number % 3}") for number in range(8))
COPIES = 9
CHANGED_BYTES = (1, 20, 400)


def store(history: History, day: int) -> None:
    """An audit of all hosts, with some of everything."""
    models = ("e1000", "virtio", "rtl8139")
    readings = []
    for number, one in enumerate(HOSTS):
        domains = []
        for guest in range(4):
            nics = tuple(
                TestNic(
                    f"52:54:00:{number:02x}:{guest:02x}:{nic:02x}",
                    models[(guest + day + nic) % 3],
                    frozenset({"TEST01", "TEST02"} if (guest + day + nic) % 3 else ()),
                )
                for nic in range(2)
            )
            domains.append(TestDomain(number * 10 + guest, nics))
        readings.append(reading(one, domains, day))
    history.store(audit(f"2026010{day}-000000-0000", day, HOSTS), readings)


def copy(history: History) -> None:
    with (
        TemporaryDirectory() as folder,
        history_to_write(history_place(None, folder)) as empty,
    ):
        history.copy_to(empty)


def page(history: History) -> None:
    gains = history.gains()
    with history.fleet_state() as state:
        history_page(state, gains, SpoolFolder(Path("/nonexistent")))


QUERIES: Mapping[str, Callable[[History], object]] = {
    "status": History.status,
    "details": lambda history: history.details("latest"),
    "trend": lambda history: history.trend(TrendRequest()),
    "counts": lambda history: history.counts(severity_of),
    "drift": lambda history: history.drift("20260101-000000-0000", "latest"),
    "page": page,
    "copy": copy,
    "last readings": lambda history: history.last_readings([one.name for one in HOSTS], []),
}
WRITES: Mapping[str, Callable[[History], object]] = {
    "store": lambda history: store(history, 5),
    "claims": lambda history: history.claim("ops", "2026-01-05", {"a", "b"}),
}


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_whatever_bytes_are_changed(seed: int | None, tmp_path: Path) -> None:
    chance = random.Random(drawn(seed))
    with history_to_write(history_place(None, tmp_path)) as history:
        for day in range(1, 4):
            store(history, day)
    file = tmp_path / "history.db"
    data, ends = file.read_bytes(), []
    for copy in range(COPIES):
        damaged = bytearray(data)
        for _ in range(CHANGED_BYTES[copy % len(CHANGED_BYTES)]):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        for opened, queries in ((history_to_read, QUERIES), (history_to_write, WRITES)):
            for query in queries.values():
                for left in tmp_path.glob("history.db*"):
                    left.unlink()
                file.write_bytes(damaged)
                file.chmod(0o600)
                try:
                    with opened(history_place(None, tmp_path)) as history:
                        query(history)
                    ends.append("well")
                except (HistoryError, UsageError):
                    ends.append("said")
    assert {"well", "said"} == set(ends)


@pytest.mark.parametrize("query", [*QUERIES, *WRITES])
def test_text_that_is_none(query: str, tmp_path: Path) -> None:
    """A history whose schema SQLite quotes in an error that is no text: it was an internal error
    of every query."""
    place = history_place(None, tmp_path)
    with history_to_write(place) as history:
        store(history, 1)
    file = tmp_path / "history.db"
    data = file.read_bytes()
    file.write_bytes(data.replace(b"CREATE TABLE host (", b"CREATE TABLE host \x9c"))
    assert file.read_bytes() != data
    opened = history_to_read if query in QUERIES else history_to_write
    with (
        pytest.raises(HistoryError, match="restore the file from a backup"),
        opened(place) as history,
    ):
        {**QUERIES, **WRITES}[query](history)


def test_a_mistake_of_the_program_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told the operator to move the history away."""
    monkeypatch.delenv("VNICAUDIT_DEBUG", raising=False)
    with history_to_write(history_place(None, tmp_path)) as history:
        with (
            pytest.raises(HistoryError, match="internal error") as error,
            history.database.reading(),
        ):
            raise KeyError("x")
        assert "KeyError: 'x'" in str(error.value)
        assert "move it away" not in str(error.value)
        monkeypatch.setenv("VNICAUDIT_DEBUG", "1")
        with pytest.raises(KeyError), history.database.reading():
            raise KeyError("x")
