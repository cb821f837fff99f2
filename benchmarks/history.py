"""The history compared with bare bulk inserts, and over a year.

    python -m benchmarks.history [--hosts 1000] [--rounds 3] [--days 365] [--churn 0.01]
        [--postgresql]

HOSTS hosts of 50 domains with two NICs, each with a finding. CPU seconds of this process and, with
``--postgresql``, of the server's processes:

* floor: insert the rows that the first audit writes into the tables of NICs and findings, from
  prepared tuples, into the same empty tables with the same indexes, in one transaction:
  ``executemany``, or COPY;
* store: the first audit, from readings in memory, into an empty history;
* unchanged: the audit of the next day, without changes;
* a year: DAYS audits, with a random share CHURN of the NICs changed between audits, then ``drift``
  and ``trend`` over the whole year.

PostgreSQL is Debian's, in a private folder, with ``fsync=off``, so its wall time is meaningless.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.history.fleets import (
    RULES,
    TestDomain,
    TestNic,
    audit,
    audited,
    host,
    reading,
    timestamp,
)
from tests.history.postgresql import server, url
from vnicaudit.__main__ import GARBAGE
from vnicaudit.history import history_to_read, history_to_write
from vnicaudit.history.database import Row, insert_rows
from vnicaudit.history.history import History
from vnicaudit.history.place import HistoryPlace, history_place
from vnicaudit.history.tables import finding, nic
from vnicaudit.model.fleet import HostReading, InventoryHost
from vnicaudit.model.history import TrendRequest
from vnicaudit.model.report import Audited

_SLOW = frozenset({"TEST01"})
_GUESTS = 50
_NICS = 2
_PER_HOST = _GUESTS * _NICS
_TICKS = os.sysconf("SC_CLK_TCK")


class Fleet:
    """Hosts and their guests. A reading is rebuilt only if something on its host changed."""

    def __init__(self, hosts: int) -> None:
        self.hosts = tuple(host(f"kvm{n:05}", f"site{n % 10}") for n in range(hosts))
        self._guests = {
            one.name: [_guest(place * _GUESTS + n) for n in range(_GUESTS)]
            for place, one in enumerate(self.hosts)
        }
        self._readings: dict[str, HostReading] = {}
        self._judged: dict[TestDomain, Audited] = {}

    def change(self, share: float, seed: int) -> None:
        """Change that share of all NICs: NICs with a finding lose it, others get one."""
        nics = len(self.hosts) * _PER_HOST
        for place in random.Random(seed).sample(range(nics), round(nics * share)):
            name = self.hosts[place // _PER_HOST].name
            guest, index = divmod(place % _PER_HOST, _NICS)
            one = self._guests[name][guest]
            cards = list(one.nics)
            mac = cards[index].mac
            cards[index] = TestNic(mac) if cards[index].found else TestNic(mac, "e1000", _SLOW)
            self._guests[name][guest] = TestDomain(one.number, tuple(cards))
            self._readings.pop(name, None)

    def readings(self, day: int) -> list[HostReading]:
        """The readings of all hosts."""
        return [self._reading(one, day) for one in self.hosts]

    def _reading(self, one: InventoryHost, day: int) -> HostReading:
        made = self._readings.get(one.name)
        if made is None:
            judged = tuple(self._audited(each, one.uri) for each in self._guests[one.name])
            made = msgspec.structs.replace(
                reading(one, (), day), audited=judged, digest=f"{one.name} on day {day}"
            )
            self._readings[one.name] = made
        at = timestamp(day)
        return msgspec.structs.replace(made, started=at, finished=at)

    def _audited(self, guest: TestDomain, target: str) -> Audited:
        made = self._judged.get(guest)
        if made is None:
            made = self._judged[guest] = audited(guest, target, RULES)
        return made


def _guest(number: int) -> TestDomain:
    digits = f"{number:06x}"
    start = f"52:54:{digits[:2]}:{digits[2:4]}:{digits[4:]}"
    return TestDomain(
        number, tuple(TestNic(f"{start}:{n:02x}", "e1000", _SLOW) for n in range(_NICS))
    )


class Machine:
    """A place for histories, and the CPU time spent on them."""

    def __init__(self, folder: Path, socket: Path | None) -> None:
        self._folder = folder
        self._socket = socket
        self._count = 0

    def place(self) -> HistoryPlace:
        """A new place."""
        self._count += 1
        if self._socket is None:
            return history_place(str(self._folder / f"{self._count}.db"), "")
        import psycopg

        name = f"b{self._count}"
        with psycopg.connect(url(self._socket, "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return history_place(url(self._socket, name), "")

    def cpu(self) -> float:
        """CPU seconds of this process and of the server's, including ended ones."""
        used = time.process_time()
        if self._socket is not None:
            main = int((self._socket / "data" / "postmaster.pid").read_text().split()[0])
            # count an ending process when it has ended
            while any(map(_is_client, _children(main))):
                time.sleep(0.01)
            used = time.process_time() + _cpu_of(main, children=True)
            used += sum(_cpu_of(child, children=False) for child in _children(main))
        return used

    def spent(self, work: Callable[[], object]) -> float:
        """CPU seconds spent on the work."""
        begin = self.cpu()
        work()
        return self.cpu() - begin


def _cpu_of(process: int, *, children: bool) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11 : 15 if children else 13])) / _TICKS


def _is_client(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"postgres: postgres ")
    except OSError:
        return False


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()]


@contextmanager
def machine(*, postgresql: bool) -> Iterator[Machine]:
    """A machine whose files and server are removed afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield Machine(folder, stack.enter_context(server()) if postgresql else None)


class Figures(NamedTuple):
    """Figures of one round: CPU seconds, and bytes after the first and the second audit."""

    floor: float
    first: float
    unchanged: float
    size: int
    grown: int


def measure(made: Machine, fleet: Fleet) -> Figures:
    """Measure one round."""
    first, second = fleet.readings(1), fleet.readings(2)
    place = made.place()
    with history_to_write(place) as history:
        began = audit("a1", 1, fleet.hosts)
        stored = made.spent(lambda: history.store(began, first))
        size = history.status().bytes
        again = audit("a2", 2, fleet.hosts)
        unchanged = made.spent(lambda: history.store(again, second))
        grown = history.status().bytes - size
        rows = _rows(history)
    gc.collect()
    return Figures(_floor(made, rows), stored, unchanged, size, grown)


def _rows(history: History) -> tuple[list[Row], list[Row]]:
    with history.database.reading() as connection:
        nics, findings = (connection.execute(table.select()) for table in (nic, finding))
        return [tuple(row) for row in nics], [tuple(row) for row in findings]


def _floor(made: Machine, rows: tuple[list[Row], list[Row]]) -> float:
    with history_to_write(made.place()) as history:

        def insert() -> None:
            with history.database.writing() as connection:
                for table, some in zip((nic, finding), rows, strict=True):
                    insert_rows(connection, table, some)

        return made.spent(insert)


def print_rounds(made: Machine, fleet: Fleet, rounds: int) -> None:
    """Measure, and print each round and the medians of the ratios."""
    found = []
    for number in range(rounds):
        one = measure(made, fleet)
        found.append(one)
        print(
            f"round {number + 1}: floor {one.floor:.2f} s, store {one.first:.2f} s, unchanged "
            f"{one.unchanged:.3f} s; {one.size / 1e6:.1f} MB, then {one.grown / 1e3:.0f} kB more"
        )
    ratios = [one.first / one.floor for one in found]
    parts = [one.first / one.unchanged for one in found]
    print(
        f"store to floor {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}; "
        f"bar 2); unchanged: a {statistics.median(parts):.0f}th of it (bar 20), a "
        f"{found[-1].size // max(1, found[-1].grown)}th of the space (bar 100)"
    )


def print_year(made: Machine, fleet: Fleet, days: int, churn: float) -> None:
    """Store a year with that share of change per day, and query it."""
    place = made.place()
    spent = 0.0
    with history_to_write(place) as history:
        for day in range(1, days + 1):
            readings = fleet.readings(day)
            one = audit(f"a{day}", day, fleet.hosts)
            spent += made.spent(partial(history.store, one, readings))
            fleet.change(churn, day)
            if day in (1, days) or day % 30 == 0:
                size = history.status(0).bytes
                print(f"{day} audits: {spent:.1f} s, {size / 1e6:.1f} MB (bar 300)", flush=True)
    with history_to_read(place) as history:
        asked: dict[str, Callable[[], object]] = {
            "trend by rule": lambda: history.trend(TrendRequest("rule")),
            "trend by site": lambda: history.trend(TrendRequest("site")),
            "drift of the last day": lambda: history.drift("previous", "latest"),
            "drift of a month": lambda: history.drift(f"a{max(1, days - 30)}", "latest"),
            "drift of all": lambda: history.drift("a1", "latest"),
        }
        for name, work in asked.items():
            print(f"{name}: {made.spent(work):.2f} s (bar 2)")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--churn", type=float, default=0.01)
    parser.add_argument("--postgresql", action="store_true")
    words = parser.parse_args()
    fleet = Fleet(words.hosts)
    fleet.readings(1)
    gc.set_threshold(GARBAGE)  # as the program does
    gc.collect()
    # this data stands for the spool; keep it out of garbage collection during the measurement
    gc.freeze()
    with machine(postgresql=words.postgresql) as made:
        if words.rounds:
            print_rounds(made, fleet, words.rounds)
        if words.days:
            print_year(made, fleet, words.days, words.churn)


if __name__ == "__main__":
    main()
