"""Read several live hosts side by side, and hand on their items in order.

Reading a host is mostly waiting: threads read the next hosts while the items of the first are
judged. The order, and so the report, is that of the targets, whichever answers first.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar

from vnicaudit.base.waiting import next_of

T = TypeVar("T")

MOST_AT_ONCE = 16
"""Maximum number of hosts that are read at once."""
CALLS = 8
"""Concurrent calls to one host, if several hosts are read: they hide its round trips, and 32 hosts
have 256 of them."""
_WAITING_MAX = 256
"""Maximum number of items of one host that are kept for its turn: the others are read later."""
_ROOM_SECONDS = 1.0
"""How often a thread that waits for room checks if anybody still reads."""


def read_ahead(
    readings: Sequence[Callable[[], Iterator[T]]], most: int = MOST_AT_ONCE
) -> Iterator[Iterator[T]]:
    """The items of each reading, in the order of the readings, ``most`` of which are in progress at
    once; the items of one reading come before those of the next. An error of a reading is raised at
    its place in the order. A single reading needs no thread."""
    if len(readings) < 2:
        yield from (read() for read in readings)
        return
    later = iter(readings)
    under_way = deque(map(_Reading, islice(later, most)))
    try:
        while under_way:
            yield under_way[0].items()
            under_way.popleft().abandon()
            under_way.extend(map(_Reading, islice(later, 1)))
    finally:
        for reading in under_way:
            reading.abandon()


class _EndOfItems:
    """The end of the items; ``error`` is the exception that ended them, if there was one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Reading(Generic[T]):
    """One reading, in its own thread."""

    def __init__(self, read: Callable[[], Iterator[T]]) -> None:
        self._queue: queue.Queue[T | _EndOfItems] = queue.Queue(_WAITING_MAX)
        self._abandoned = threading.Event()
        self._read = read
        threading.Thread(target=self._run, name="read ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        """The items, as they arrive."""
        while not isinstance(item := next_of(self._queue), _EndOfItems):
            yield item
        if item.error is not None:
            raise item.error

    def abandon(self) -> None:
        """Stop: nobody takes further items."""
        self._abandoned.set()

    def _run(self) -> None:
        end = _EndOfItems()
        try:
            for item in self._read():
                if not self._put(item):
                    return
        except BaseException as error:  # raised in the thread that takes the items
            end = _EndOfItems(error)
        self._put(end)

    def _put(self, item: T | _EndOfItems) -> bool:
        """Pass an item on; False if nobody takes it any more."""
        while not self._abandoned.is_set():
            try:
                self._queue.put(item, timeout=_ROOM_SECONDS)
            except queue.Full:
                continue
            return True
        return False
