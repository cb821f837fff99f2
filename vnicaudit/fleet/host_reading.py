"""Reads hosts in parallel: threads wait for an engine, and pass on the result of each host."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Generic, Protocol, TypeVar

import msgspec

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.machines import CALLS
from vnicaudit.audit.settings.keys import SetOnce
from vnicaudit.base.deadlines import DaemonCall, TimeUpError, next_of, timestamp
from vnicaudit.base.wording import count
from vnicaudit.model.fleet import (
    WORTH_A_RETRY,
    FailureKind,
    InventoryHost,
    LiveOptions,
)
from vnicaudit.model.report import LostRead, ReadError

M = TypeVar("M")
"""Items read from a host: what runs there (``HostItem``), or its definitions."""

# One try of one host by this process, with a deadline.


ReadHost = Callable[[str, LiveOptions], Iterator[M]]
"""Reads a target. Raises TargetError if it cannot be read at all."""


def one_try(
    read: ReadHost[M], host: InventoryHost, plain: LiveOptions, deadline: float
) -> list[M | ReadError]:
    """Everything that one try reads before the host's deadline (in seconds), with the failure if
    that passed. ``plain``: options of hosts that have none of their own."""
    items: list[M | ReadError] = []
    ended = threading.Event()

    def read_all() -> None:
        for item in guarded(host.uri, read(host.uri, _options_of(host, plain))):
            if ended.is_set():
                return
            items.append(item)

    try:
        DaemonCall(f"host {host.name}", read_all).result(deadline)
    except TimeUpError:
        ended.set()
        text = f"not completely read within {deadline:g} s (VNICAUDIT_HOST_DEADLINE)"
        return [*items, LostRead(text, host.uri, failure="deadline")]
    return items


def _options_of(host: InventoryHost, plain: LiveOptions) -> LiveOptions:
    own = host.options
    return msgspec.structs.replace(
        plain,
        deadline=plain.deadline if own.deadline is None else own.deadline,
        agent=plain.agent if own.agent is None else own.agent,
        host_facts=plain.host_facts if own.host_facts is None else own.host_facts,
        calls=plain.calls or CALLS,
    )


class Threads(Generic[M]):
    """``plain``: options of hosts that have none of their own; ``deadline``: seconds for one try of
    one host."""

    def __init__(self, read: ReadHost[M], plain: LiveOptions, deadline: float) -> None:
        self._read = read
        self._plain = plain
        self._deadline = deadline

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """One try of a host, in this thread."""
        return one_try(self._read, host, self._plain, self._deadline)

    def slots(self, site: str) -> int:
        """0: no limit besides the number of threads."""
        del site
        return 0

    def close(self) -> None:
        """Nothing to release."""


class ReadingEngine(Protocol[M]):
    """Reads hosts; called by several threads at once."""

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """Everything that one attempt reads before the host's deadline, with a LostRead if it
        failed. Raises TargetError if no further host can be read."""

    def slots(self, site: str) -> int:
        """The number of hosts of a site that it can read at once now; 0: no limit."""

    def close(self) -> None:
        """Release everything it holds; hosts that are being read are abandoned."""


# Decides which host is read next: load is spread over sites, and a failed host is retried later.


class HostTask(msgspec.Struct, frozen=True):
    """A host to read: its ``place`` in the order of the audit, and the number of the attempt, from
    1."""

    place: int
    host: InventoryHost
    attempt: int = 1


class HostQueue:
    """Queue of hosts to read, shared by threads. ``per_site``: maximum hosts of one site read at
    once (0: no limit besides the number of threads). ``slots``: returns how many hosts of a site
    can be read at once at the moment (0: no limit either)."""

    def __init__(
        self,
        hosts: Iterable[tuple[int, InventoryHost]],
        per_site: int = 0,
        slots: Callable[[str], int] = lambda _site: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waiting: dict[str, deque[HostTask]] = {}
        for place, host in hosts:
            self._waiting.setdefault(host.site, deque()).append(HostTask(place, host))
        self._later: list[tuple[float, int, HostTask]] = []
        self._reading: Counter[str] = Counter()
        self._per_site = per_site
        self._slots = slots
        self._clock = clock
        self._changed = threading.Condition()
        self._stopped = False

    def take(self) -> HostTask | None:
        """The next host, as soon as one may be read; None: none is left, or the audit was
        stopped."""
        with self._changed:
            while not self._is_over():
                task = self._next()
                if task is not None:
                    self._reading[task.host.site] += 1
                    return task
                self._changed.wait(self._until_due())
            self._changed.notify_all()
            return None

    def done(self, task: HostTask, again_after: float | None = None) -> None:
        """Note that a host was read. ``again_after``: seconds after which to read it again; None:
        it is done."""
        with self._changed:
            self._reading[task.host.site] -= 1
            if again_after is not None:
                again = msgspec.structs.replace(task, attempt=task.attempt + 1)
                heapq.heappush(self._later, (self._clock() + again_after, task.place, again))
            self._changed.notify_all()

    def stop(self) -> None:
        """Return no more hosts."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        """True if nothing is left. Hosts being read count as left, because they may be retried."""
        return self._stopped or not (
            self._later or any(self._waiting.values()) or any(self._reading.values())
        )

    def _until_due(self) -> float | None:
        """Seconds until a failed host may be retried; None: no host is waiting for that."""
        if not self._later or self._later[0][0] <= self._clock():
            return None  # it waits for room at its site
        return self._later[0][0] - self._clock()

    def _next(self) -> HostTask | None:
        """A host due for a retry, else a host of the site with the fewest being read; among several
        such sites, the one with the most left."""
        self._requeue_due()
        free = [site for site, tasks in self._waiting.items() if tasks and self._has_room(site)]
        if not free:
            return None
        site = min(free, key=lambda one: (self._reading[one], -len(self._waiting[one])))
        return self._waiting[site].popleft()

    def _requeue_due(self) -> None:
        """Put hosts whose pause is over in front of the others of their site."""
        while self._later and self._later[0][0] <= self._clock():
            _due, _place, task = heapq.heappop(self._later)
            self._waiting[task.host.site].appendleft(task)

    def _has_room(self, site: str) -> bool:
        limits = (self._per_site, self._slots(site))
        return all(not limit or self._reading[site] < limit for limit in limits)


_ENDLESS = 1 << 30
_AT_ONCE = 4
"""Hosts whose results may be waiting for those before them, for each that is read at once."""


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
    read at once. ``pauses``: seconds before each retry; the last value is used for all further
    ones."""

    def __init__(
        self,
        tasks: HostQueue,
        engine: ReadingEngine[M],
        limits: SetOnce,
        pauses: tuple[float, ...] = (1.0, 5.0, 20.0),
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._limits = limits
        self._pauses = pauses
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
        return self._pauses[min(task.attempt, len(self._pauses)) - 1]


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


def read_in_order(
    hosts: Sequence[InventoryHost], engine: ReadingEngine[M], limits: SetOnce
) -> Iterator[HostItems[M]]:
    """The result of each host, in the order of the hosts. They are read a number of hosts at a
    time, so that one that is waited for does not fill the memory with all others."""
    some = _AT_ONCE * max(1, limits.parallel)
    for first in range(0, len(hosts), some):
        queued = HostQueue(enumerate(hosts[first : first + some]), limits.per_site, engine.slots)
        results = {done.place: done for done in HostReaders(queued, engine, limits).results()}
        yield from (results.pop(place) for place in sorted(results))
