"""Threads that make libvirt's blocking calls, and the mailbox through which they report.

A call into libvirt cannot be cancelled. So every libvirt object lives and dies in a daemon
thread; whoever waits does so at a mailbox, and gives up when nothing has been answered for
longer than a deadline. Threads that are stuck by then stay behind and do not keep the program
from ending.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from vnicaudit.base.waiting import next_of

T = TypeVar("T")

_WAITING_MAX = 64
"""Reports kept for a reader that is slow."""
_ROOM_SECONDS = 1.0
"""How often a thread that waits for room looks whether anybody still reads."""


class HostSilentError(Exception):
    """Nothing was answered before the deadline."""


class Pulse:
    """When a host was last heard, and for how many seconds it may be silent."""

    def __init__(self, deadline: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.deadline = deadline
        self.clock = clock
        self._heard = clock()
        self._ended = threading.Event()

    def beat(self) -> None:
        """An answer has come, whatever it was: the host is alive."""
        self._heard = self.clock()

    def patience(self, asked: float) -> float:
        """Seconds left to one who has waited since ``asked`` (by ``clock``)."""
        return max(asked, self._heard) + self.deadline - self.clock()

    @property
    def has_ended(self) -> bool:
        """Nobody listens any more."""
        return self._ended.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, or until nobody listens any more."""
        self._ended.wait(seconds)

    def end(self) -> None:
        """Let the threads stop after the call they are in."""
        self._ended.set()


class Mailbox(Generic[T]):
    """A bounded queue whose reader gives up when the pulse is gone."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._queue: queue.Queue[T] = queue.Queue(_WAITING_MAX)

    def post(self, item: T) -> None:
        """Report; waits while the box is full, forgets the item when nobody reads."""
        while not self._pulse.has_ended:
            try:
                self._queue.put(item, timeout=_ROOM_SECONDS)
            except queue.Full:
                continue
            return

    def take(self, more: float = 0.0) -> T:
        """The next report. Raises HostSilentError when nobody answered for the length of the
        deadline, and that many seconds more."""
        asked = self._pulse.clock()
        while True:
            patience = self._pulse.patience(asked) + more
            try:
                return next_of(self._queue, patience)
            except queue.Empty:
                if patience <= 0:
                    raise HostSilentError from None


class WorkerThreads:
    """A fixed number of daemon threads. ``heard`` is called after each call they made."""

    def __init__(self, size: int, heard: Callable[[], None]) -> None:
        self.size = size
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._heard = heard
        for number in range(size):
            threading.Thread(target=self._work, name=f"libvirt {number}", daemon=True).start()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Have a thread call ``function``; the future has what it returned or raised."""
        future: Future[T] = Future()

        def job() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # handed to the one who asks for the result
                future.set_exception(error)
            self._heard()

        self._jobs.put(job)
        return future

    def dismiss(self) -> None:
        """Let every thread end when it has done what was asked before."""
        for _ in range(self.size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
