"""Reads hosts in parallel: threads wait for an engine, and pass on the result of each host."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from itertools import repeat
from typing import Generic, TypeVar

import msgspec

from vnicaudit.base.clock import timestamp
from vnicaudit.base.waiting import next_of
from vnicaudit.base.wording import count
from vnicaudit.fleet.running.engines.engine import ReadingEngine
from vnicaudit.fleet.running.host_queue import HostQueue, HostTask
from vnicaudit.model.fleet import WORTH_A_RETRY, FailureKind, InventoryHost
from vnicaudit.model.report import LostRead, ReadError

M = TypeVar("M")
"""Items read from a host: what runs there (``Met``), or its definitions."""

_PAUSES = (1.0, 5.0, 20.0)
"""Seconds before each retry; the last value is used for all further ones."""
_ENDLESS = 1 << 30


class ReadingLimits(msgspec.Struct, frozen=True):
    """``parallel``: hosts read at once. ``per_site``: maximum of one site (0: no further limit).
    ``host_deadline``: seconds for one attempt at a host. ``retries``: how often a host is retried
    after a failure that may pass. ``pauses``: seconds before each retry."""

    parallel: int = 32
    per_site: int = 0
    host_deadline: float = 600.0
    retries: int = 2
    pauses: tuple[float, ...] = _PAUSES


class HostItems(msgspec.Struct, Generic[M], frozen=True):
    """The result of reading one host. ``items``, in order: those of the last attempt, or of an
    earlier one that returned more. ``started``: when the last attempt started."""

    place: int
    host: InventoryHost
    items: list[M | ReadError]
    started: str
    finished: str
    tries: int


class HostReaders(Generic[M]):
    """Threads that read hosts. The number of hosts waiting to be judged is limited to the number
    read at once."""

    def __init__(self, tasks: HostQueue, engine: ReadingEngine[M], limits: ReadingLimits) -> None:
        self._tasks = tasks
        self._engine = engine
        self._limits = limits
        self._done: queue.Queue[HostItems[M] | BaseException | None] = queue.Queue(
            max(2, limits.parallel // 4)
        )
        self._best: dict[int, list[M | ReadError]] = {}

    def results(self) -> Generator[HostItems[M], None, None]:
        """The result of each host, in the order in which they finish. The caller must read all of
        them or close the generator."""
        threads = max(1, self._limits.parallel)
        for number in range(threads):
            threading.Thread(target=self._work, name=f"hosts {number}", daemon=True).start()
        try:
            for _ in repeat(None, threads):
                yield from self._until_one_ends()
        finally:
            self._tasks.stop()
            self._done.maxsize = _ENDLESS  # threads must not wait for room any more
            with self._done.mutex:
                self._done.not_full.notify_all()

    def _until_one_ends(self) -> Iterator[HostItems[M]]:
        while (result := next_of(self._done)) is not None:
            if isinstance(result, BaseException):
                raise result
            yield result

    def _work(self) -> None:
        """Read one host after the other until there are no more."""
        try:
            while (task := self._tasks.take()) is not None:
                result = self._result_of(task)
                if result is not None:
                    self._done.put(result)
            self._done.put(None)
        except BaseException as error:  # raised again by whoever takes the results
            self._done.put(error)

    def _result_of(self, task: HostTask) -> HostItems[M] | None:
        """The result of a host; None if it will be retried."""
        started = timestamp()
        items = self._engine.attempt(task.host)
        failure = _host_failure(items)
        pause = self._pause(task, failure)
        best = self._best.pop(task.place, None)
        if best is not None and failure is not None and len(best) > len(items):
            items = best
        if pause is not None:
            self._best[task.place] = items
            self._tasks.done(task, pause)
            return None
        self._tasks.done(task)
        tried = _with_tries(items, task.attempt) if failure is not None else items
        return HostItems(task.place, task.host, tried, started, timestamp(), task.attempt)

    def _pause(self, task: HostTask, failure: FailureKind | None) -> float | None:
        """Seconds before the next attempt; None: there is none."""
        if failure not in WORTH_A_RETRY or task.attempt > self._limits.retries:
            return None
        pauses = self._limits.pauses
        return pauses[min(task.attempt, len(pauses)) - 1]


def _host_failure(items: Sequence[object]) -> FailureKind | None:
    """The failure of the host or its connection; None: neither failed. A single silent guest does
    not count."""
    lost = (item for item in items if isinstance(item, LostRead))
    return next((item.failure for item in lost if item.whole), None)


def _with_tries(items: list[M | ReadError], attempts: int) -> list[M | ReadError]:
    """The items, with the number of attempts added to the first failure."""
    if attempts == 1:
        return items
    found = next(n for n, item in enumerate(items) if isinstance(item, LostRead))
    lost = items[found]
    if not isinstance(lost, LostRead):
        return items
    text = f"{lost.message} ({count(attempts, 'try').replace('trys', 'tries')})"
    told = msgspec.structs.replace(lost, message=text)
    return [*items[:found], told, *items[found + 1 :]]
