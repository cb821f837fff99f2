"""Decides which host is read next: load is spread over sites, and a failed host is retried
later."""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

import msgspec

from vnicaudit.model.fleet import InventoryHost


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
