"""Deadlines and waiting: calls that may never return, Ctrl-C, CPU time, the time of day."""

from __future__ import annotations

import io
import os
import queue
import select
import signal
import sys
import threading
import time
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Waiting that reacts to Ctrl-C within a second.
#
# A signal interrupts a system call that waits, and Python checks for signals before and after one.
# A signal between that check and the beginning of the call does neither: it is noticed only when
# the wait is over. So nothing here waits for longer than LOOK seconds at a time.


T = TypeVar("T")

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


def next_of(source: queue.Queue[T] | queue.SimpleQueue[T], seconds: float | None = None) -> T:
    """The next item of a queue. Raises queue.Empty if none came within ``seconds``."""
    for part in _parts(seconds):
        with suppress(queue.Empty):
            return source.get(timeout=part)
    raise queue.Empty


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


# Calls that may never return, each with a deadline.


class TimeUpError(Exception):
    """Nothing came back before the deadline."""


class DaemonCall(Generic[T]):
    """One function, called in a daemon thread of that name, so that the caller can stop waiting for
    a call that cannot be cancelled."""

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        self._answer: queue.SimpleQueue[tuple[list[T], BaseException | None]] = queue.SimpleQueue()
        self._function = function
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def result(self, seconds: float | None = None) -> T:
        """The value that the call returned; raises the error that the call raised. Raises
        TimeUpError if it did neither within ``seconds``; it can then be called again."""
        try:
            values, error = next_of(self._answer, seconds)
        except queue.Empty:
            raise TimeUpError from None
        if error is not None:
            raise error
        return values[0]

    def _work(self) -> None:
        try:
            self._answer.put(([self._function()], None))
        except BaseException as error:  # raised again in the waiting thread
            self._answer.put(([], error))


# The time of day as written in files and reports.


def timestamp(unit: Literal["seconds", "milliseconds"] = "milliseconds") -> str:
    """Now, in UTC, by ISO 8601: ``2026-11-22T10:15:30.559Z``."""
    return datetime.now(timezone.utc).isoformat(timespec=unit).replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The time of an ISO 8601 timestamp with ``Z`` or an offset; naive if it has neither. Raises
    ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not accept Z


def seconds_between(begin: str, end: str | None) -> float | None:
    """Seconds from one timestamp to a later one; None if either is missing or invalid, or if they
    are in the wrong order."""
    try:
        seconds = (moment(end or "") - moment(begin)).total_seconds()
    except (ValueError, TypeError):  # not a timestamp, or only one of the two has a time zone
        return None
    return seconds if seconds >= 0 else None


# Limit on the time for reading one input, in CPU time, so that no file fails because the machine is
# busy.
#
# A signal interrupts the reading wherever Python code runs, and also while an expression of ``re``
# backtracks. The error is not an ``Exception``, so that no library that catches everything can
# swallow it. Signals reach only the main thread; in other threads (which read live hosts) only the
# size limits apply.


FILE_SECONDS = 30.0
"""CPU seconds for one file or for standard input. The largest files that are accepted take a third
of it on a slow machine."""
PROCESS_SECONDS = 5.0
"""CPU seconds for the arguments of one process: anybody can start one that is called qemu."""

_AGAIN = 0.5
"""Seconds until the signal is sent again: an error raised in a destructor is lost."""
_MERCY = 2.0
"""At this multiple of the CPU time a worker process is killed: some C code handles no signal until
it is done."""


class OutOfTime(BaseException):
    """Reading took too long."""


class _Clock:
    """Deadline clock of this process. ``deadly``: the kernel may kill the process, because a parent
    process handles that."""

    running = False
    deadly = False
    listening = 0
    """Identifier of the thread that receives signals; 0 until it is known."""


class Deadline:
    """A limit of ``seconds`` of CPU time for the body of ``with``; entering it several times uses
    up the same limit.

    It has no effect inside another deadline, and in threads that signals do not reach.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._mine = False

    def __enter__(self) -> None:
        if _Clock.running or not _listen():
            return
        self._mine = _Clock.running = True
        signal.setitimer(signal.ITIMER_PROF, max(self._left, 1e-6), _AGAIN)
        if _Clock.deadly:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(self._left, 1e-6) * _MERCY)

    def __exit__(self, *_raised: object) -> None:
        if not self._mine:
            return
        self._mine = _Clock.running = False  # first: later signals are ignored
        self._left, _again = signal.setitimer(signal.ITIMER_PROF, 0)
        if _Clock.deadly:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def within(seconds: float, items: Iterator[T]) -> Iterator[T]:
    """Yield ``items``, with a limit of ``seconds`` of CPU time for getting all of them. The
    caller's work between two items does not count and is not interrupted. Raises OutOfTime."""
    deadline = Deadline(seconds)
    while True:
        with deadline:
            ready = list(islice(items, 1))
        if not ready:
            return
        yield ready[0]


def is_timed() -> bool:
    """True while a deadline holds for the running work."""
    return _Clock.running


def kill_when_late() -> None:
    """From now on, let the kernel kill this process if it does not react to the signal; for
    workers."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    _Clock.running = False
    _Clock.deadly = True


def _listen() -> bool:
    """True in the thread that receives signals. The handler is set only once, because setting it
    costs a tenth of reading a small file."""
    if _Clock.listening == get_ident():
        return True
    try:
        signal.signal(signal.SIGPROF, _late)
    except ValueError:  # not the main thread
        return False
    _Clock.listening = get_ident()
    return True


_OWN = (Deadline.__enter__.__code__, Deadline.__exit__.__code__)


def _late(number: int, frame: FrameType | None) -> None:
    """Raise OutOfTime, except while the clock is being set or stopped: the clock would keep running
    and interrupt later work. If C code took long and raised, the signal waits for the next Python
    call, which is ``__exit__``."""
    del number
    if _Clock.running and (frame is None or frame.f_code not in _OWN):
        raise OutOfTime
