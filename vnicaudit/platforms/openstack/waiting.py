"""Work in threads of its own, and waiting for it no longer than is reasonable.

A request cannot be cancelled, and nothing bounds all that it does (to look up a name, to read what
trickles in). So each is made in a daemon thread, and whoever waits gives up.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.base.waiting import next_of

T = TypeVar("T")

_AHEAD = 2
"""Pages that are read before anybody asks for them."""
_LOOK_SECONDS = 0.5
"""How often a thread that waits for room looks whether anybody still reads."""


class Turns:
    """How long somebody's work has to wait for its turn (``--max-rps``): that is time of ours, and
    not of the service. ``over``: nobody waits for that work any more."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.over = False

    def add(self, seconds: float) -> None:
        """So long it waits now."""
        self.seconds += seconds


def within(seconds: float, name: str, function: Callable[[], T], turns: Turns | None = None) -> T:
    """The result of ``function``, or its exception. Raises TimeUpError where it takes longer than
    ``seconds``, its ``turns`` excluded; it may still be running then."""
    task, turns, begun = (
        DaemonCall(f"openstack: {name}", function),
        turns or Turns(),
        time.monotonic(),
    )
    left = seconds
    while left > 0:
        try:
            return task.result(left)
        except TimeUpError:
            left = begun + seconds + turns.seconds - time.monotonic()
    turns.over = True
    raise TimeUpError


class Feed(Generic[T]):
    """Values of an iterator that runs in a thread: a little ahead of the reader, and stopped once
    the reader has gone."""

    def __init__(self, name: str, source: Iterator[T]) -> None:
        self._queue: queue.Queue[tuple[list[T], BaseException | None]] = queue.Queue(_AHEAD)
        self._gone = threading.Event()
        self._source = source
        self.thread = threading.Thread(target=self._work, name=f"openstack: {name}", daemon=True)
        self.thread.start()

    def __iter__(self) -> Iterator[T]:
        """To be walked once; raises what the iterator raised, where it did."""
        while True:
            values, error = next_of(self._queue)
            if error is not None:
                raise error
            if not values:
                return
            yield values[0]

    def stop(self) -> None:
        """Nobody reads any more: the thread ends after what it is at."""
        self._gone.set()

    def _work(self) -> None:
        try:
            for value in self._source:
                if not self._offer(([value], None)):
                    return
            self._offer(([], None))
        except BaseException as error:  # handed to the one who reads
            self._offer(([], error))

    def _offer(self, item: tuple[list[T], BaseException | None]) -> bool:
        while not self._gone.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
