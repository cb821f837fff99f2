"""Processes that store audits at once, and that are killed while they do.

    python -m tests.history.processes kills [--kills 200] [--postgresql] [--seed N]
    python -m tests.history.processes writers [--postgresql]

*kills*: a process stores an audit, and is killed with SIGKILL at a random one of the calls that it
makes for that (of Python and C functions alike). Then either nothing of the audit is there, or all:
every table is compared with a history in which the same audits were stored in peace.
*writers*: two processes store audits of the same hosts at once.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from tests.history.filled import rows
from tests.history.fleets import audit
from tests.history.postgresql import server, url
from tests.history.test_random_audits import Fleet
from vnicaudit.history import history_to_read, history_to_write
from vnicaudit.history.place import HistoryPlace, history_place
from vnicaudit.model.fleet import FleetAudit, HostReading

Made = tuple[FleetAudit, list[HostReading]]
Dump = dict[str, list[str]]


def dump(place: HistoryPlace) -> Dump:
    """Every row of every table, as text."""
    with history_to_read(place) as history:
        return rows(history)


def store(place: HistoryPlace, made: Made) -> None:
    """Store it."""
    with history_to_write(place) as history:
        history.store(*made)


def in_child(work: Callable[[], object]) -> int:
    """Do it in a process of its own; what became of that, as of ``waitpid``."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
    return os.waitpid(child, 0)[1]


class Calls:
    """Counts calls, and ends this process at one of them."""

    def __init__(self, last: int | None = None) -> None:
        self.count = 0
        self._last = last

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """A profiler of Python's."""
        del frame, event, argument
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


def counted(work: Callable[[], object], last: int | None = None) -> int:
    """How many calls that takes; the process is killed at the last one."""
    calls = Calls(last)
    sys.setprofile(calls)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls.count


def kills(place: HistoryPlace, number: int, seed: int) -> str:
    """Kill so many that store; a sentence on how it went. Raises AssertionError."""
    fleet, drawn = Fleet(seed), random.Random(seed)
    there, scale = 0, 1.0  # a database of another kind takes other calls
    with tempfile.TemporaryDirectory() as folder:
        peaceful = history_place(str(Path(folder) / "peaceful.db"), "")
        for each in (peaceful, place):
            store(each, (audit("first", 0, ()), []))
        for kill in range(number):
            made = fleet.audited(kill + 1)
            before = dump(peaceful)
            calls = counted(partial(store, peaceful, made))
            last = drawn.randrange(1, int(1.1 * scale * calls))
            status = in_child(partial(_killed, place, made, last))
            assert os.WIFSIGNALED(status) or status == 0, status
            found = dump(place)
            if found == before:
                scale = counted(partial(store, place, made)) / calls
                found = dump(place)
            else:
                there += 1
            assert found == dump(peaceful), f"kill {kill} at call {last}"
            fleet.day()
    return f"{number} kills, seed {seed}: all whole; the audit was there {there} times"


def _killed(place: HistoryPlace, made: Made, last: int) -> None:
    counted(partial(store, place, made), last)


def writers(place: HistoryPlace, seed: int) -> str:
    """Two processes store six audits each; a sentence. Raises AssertionError."""
    store(place, (audit("first", 0, ()), []))
    children = []
    for name in ("a", "b"):
        child = os.fork()
        if child == 0:
            os._exit(_write(place, name, seed))
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    with history_to_read(place) as history:
        audits = history.status().audits
        ids = sorted(one.id for one in audits)
        assert ids == sorted(["first", *(f"{name}{n}" for name in "ab" for n in range(6))])
        with history.database.reading() as connection:
            query = "SELECT COUNT(*), SUM(open + stale + accepted) FROM trend WHERE audit = "
            last = connection.exec_driver_sql(f"{query}'{audits[0].id}'").one()
            known = connection.exec_driver_sql(
                "SELECT COUNT(*) FROM finding f JOIN inventory i ON i.host = f.host "
                "AND i.closed IS NULL WHERE f.closed IS NULL"
            ).scalar()
            twice = connection.exec_driver_sql(
                "SELECT host, fingerprint FROM finding WHERE closed IS NULL "
                "GROUP BY host, fingerprint HAVING COUNT(*) > 1"
            ).fetchall()
    assert (int(last[1] or 0), twice) == (known, [])
    return f"two writers, seed {seed}: 12 audits, {known} findings"


def _write(place: HistoryPlace, name: str, seed: int) -> int:
    import msgspec

    fleet = Fleet(seed)
    with history_to_write(place) as history:
        for number in range(6):
            made, readings = fleet.audited(number + 1)
            history.store(msgspec.structs.replace(made, id=f"{name}{number}"), readings)
            fleet.day()
    return 0


@contextmanager
def _place(words: argparse.Namespace) -> Iterator[HistoryPlace]:
    if words.place is not None:
        yield history_place(words.place, "")
    elif words.postgresql:
        with server() as folder:
            yield history_place(url(folder, "postgres"), "")
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield history_place(str(Path(folder) / "history.db"), "")


def main() -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kills", "writers"])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--place")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    words = parser.parse_args()
    with _place(words) as place:
        if words.what == "kills":
            print(kills(place, words.kills, words.seed))
        else:
            print(writers(place, words.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
