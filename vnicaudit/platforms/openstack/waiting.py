"""Work in separate threads, with a limit on waiting for it.

A request cannot be cancelled, and there is no limit on all of its parts (looking up a name, reading
a slow answer). So each is made in a daemon thread, and the caller stops waiting.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from vnicaudit.base.deadlines import DaemonCall, TimeUpError, next_of

T = TypeVar("T")

_AHEAD = 2
"""Number of pages read in advance."""
_LOOK_SECONDS = 0.5
"""Seconds after which a thread that waits for room checks whether there is still a reader."""


class Turns:
    """How long some work has to wait for its turns (``--max-rps``): this time is not the service's.
    ``over``: nobody waits for the work any more."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.over = False

    def add(self, seconds: float) -> None:
        """Add seconds that it has to wait now."""
        self.seconds += seconds


def within(seconds: float, name: str, function: Callable[[], T], turns: Turns | None = None) -> T:
    """The result of ``function``, or its exception. Raises TimeUpError if it takes longer than
    ``seconds``, not counting its ``turns``; it may still be running then."""
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
    the reader is gone."""

    def __init__(self, name: str, source: Iterator[T]) -> None:
        self._queue: queue.Queue[tuple[list[T], BaseException | None]] = queue.Queue(_AHEAD)
        self._gone = threading.Event()
        self._source = source
        self.thread = threading.Thread(target=self._work, name=f"openstack: {name}", daemon=True)
        self.thread.start()

    def __iter__(self) -> Iterator[T]:
        """Can be iterated once; raises the iterator's exception."""
        while True:
            values, error = next_of(self._queue)
            if error is not None:
                raise error
            if not values:
                return
            yield values[0]

    def stop(self) -> None:
        """Stop the thread after its current value; called when there is no reader any more."""
        self._gone.set()

    def _work(self) -> None:
        try:
            for value in self._source:
                if not self._offer(([value], None)):
                    return
            self._offer(([], None))
        except BaseException as error:  # raised again in the reader
            self._offer(([], error))

    def _offer(self, item: tuple[list[T], BaseException | None]) -> bool:
        while not self._gone.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
