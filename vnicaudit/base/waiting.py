"""Waiting that reacts to Ctrl-C within a second.

A signal interrupts a system call that waits, and Python checks for signals before and after one. A
signal between that check and the beginning of the call does neither: it is noticed only when the
wait is over. So nothing here waits for longer than LOOK seconds at a time.
"""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LOOK = 0.5
"""Seconds after which Python checks for signals again."""
_FOR_EVER = float("inf")


class Clock(Protocol):
    """Tells the time in seconds and can sleep; the module :mod:`time` is such a clock."""

    def monotonic(self) -> float:
        """Time from an arbitrary start; it never goes backwards."""

    def time(self) -> float:
        """Time since 1970 (UTC)."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class AnyQueue(Protocol[T_co]):
    """A queue of either class: Queue or SimpleQueue."""

    def get(self, block: bool = True, timeout: float | None = None) -> T_co:
        """The next item. Raises queue.Empty after ``timeout`` seconds."""


def next_of(source: AnyQueue[T], seconds: float | None = None) -> T:
    """The next item of a queue. Raises queue.Empty if none came within ``seconds``."""
    from queue import Empty  # only where threads answer

    for part in _parts(seconds):
        try:
            return source.get(timeout=part)
        except Empty:
            continue
    raise Empty


def is_readable(descriptor: int, seconds: float | None = None) -> bool:
    """True once there is data or an end of file to read; False if there is none within
    ``seconds``."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return any(poll.poll(part * 1000) for part in _parts(seconds))


def sleep(seconds: float) -> None:
    """Wait for so many seconds."""
    for part in _parts(seconds):
        time.sleep(part)


def standard_input() -> BinaryIO | None:
    """Standard input; None if it is closed."""
    if sys.stdin is None:
        return None
    try:
        return io.BufferedReader(_Interruptible(sys.stdin.fileno()))
    except (OSError, ValueError):  # standard input was replaced by a stream in memory
        return sys.stdin.buffer


def _parts(seconds: float | None) -> Iterator[float]:
    """Seconds to wait each time, until ``seconds`` have passed; None: for ever."""
    end = _FOR_EVER if seconds is None else time.monotonic() + seconds
    while (left := end - time.monotonic()) > LOOK:
        yield LOOK
    yield max(left, 0.0)


class _Interruptible(io.RawIOBase):
    """Bytes read from a descriptor, which is not closed because it was opened elsewhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def readable(self) -> bool:
        """True: the stream can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Wait for input, read what is available into ``buffer``, and return the number of
        bytes."""
        is_readable(self._descriptor)
        return os.readv(self._descriptor, [buffer])
