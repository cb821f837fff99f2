"""Limit on the time for reading one input, in CPU time, so that no file fails because the machine
is busy.

A signal interrupts the reading wherever Python code runs, and also while an expression of ``re``
backtracks. The error is not an ``Exception``, so that no library that catches everything can
swallow it. Signals reach only the main thread; in other threads (which read live hosts) only the
size limits apply.
"""

from __future__ import annotations

import signal
from _thread import get_ident
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import TypeVar

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

_AT_ONCE = 2

T = TypeVar("T")


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
    caller's work between two items does not count and is not interrupted. Raises OutOfTime.

    Most files hold one item, so two are fetched at once: the clock is then set only once for the
    item and for noticing that there is no other."""
    deadline = Deadline(seconds)
    while True:
        ready: list[T] = []
        try:
            with deadline:
                ready.extend(islice(items, _AT_ONCE))
        finally:  # items that came before the error are valid
            yield from ready
        if len(ready) < _AT_ONCE:
            return


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
