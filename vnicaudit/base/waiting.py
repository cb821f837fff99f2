"""Waiting in which Ctrl-C is heard within a second.

A signal ends a system call that waits, and Python looks for signals before and after one. A signal
between its last look and the beginning of the call does neither: it is noticed when the wait is
over. So nothing here waits for longer than LOOK seconds at a time.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LOOK = 0.5
"""Seconds after which Python looks for signals again."""
_FOR_EVER = float("inf")


class AnyQueue(Protocol[T_co]):
    """A queue of either kind: Queue, SimpleQueue."""

    def get(self, block: bool = True, timeout: float | None = None) -> T_co:
        """The next item. Raises queue.Empty after ``timeout`` seconds."""


def next_of(source: AnyQueue[T], seconds: float | None = None) -> T:
    """The next item of a queue. Raises queue.Empty where none came within ``seconds``."""
    from queue import Empty  # not loaded for an audit of files

    for part in _parts(seconds):
        try:
            return source.get(timeout=part)
        except Empty:
            continue
    raise Empty


def is_readable(descriptor: int, seconds: float | None = None) -> bool:
    """True once there is something to read, or to learn by reading; False where there is nothing
    within ``seconds``."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return any(poll.poll(part * 1000) for part in _parts(seconds))


def sleep(seconds: float) -> None:
    """Do nothing for so long."""
    for part in _parts(seconds):
        time.sleep(part)


def is_input_awaited() -> bool:
    """True where standard input is a pipe or a socket: it may be long before its end comes."""
    try:
        return sys.stdin is not None and is_pipe(sys.stdin.fileno())
    except (OSError, ValueError):  # it stands for standard input, and is in memory
        return False


def is_pipe(place: int | str) -> bool:
    """True where a descriptor or path is one of a pipe or a socket."""
    try:
        mode = os.stat(place).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def standard_input() -> BinaryIO | None:
    """Standard input; None where it is closed."""
    if sys.stdin is None:
        return None
    try:
        return io.BufferedReader(_Interruptible(sys.stdin.fileno()))
    except (OSError, ValueError):  # it stands for standard input, and is in memory
        return sys.stdin.buffer


def _parts(seconds: float | None) -> Iterator[float]:
    """Seconds to wait, again and again, until so many have passed; None: for ever."""
    end = _FOR_EVER if seconds is None else time.monotonic() + seconds
    while (left := end - time.monotonic()) > LOOK:
        yield LOOK
    yield max(left, 0.0)


class _Interruptible(io.RawIOBase):
    """Bytes from a descriptor, which is not closed: somebody else opened it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """The number of bytes read: what there is now, after a wait for the first."""
        is_readable(self._descriptor)
        return os.readv(self._descriptor, [buffer])
