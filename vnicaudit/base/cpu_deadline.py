"""How long reading one input may take: CPU time, so that a busy machine costs nobody a file.

A signal ends the reading where Python runs it, and where an expression of ``re`` backtracks.
It is not an ``Exception``: no library that catches everything may swallow it. Signals reach the
main thread only; elsewhere (live hosts are read by threads) sizes are the limit.
"""

from __future__ import annotations

import signal
from _thread import get_ident
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import TypeVar

FILE_SECONDS = 30.0
"""Of CPU time, for one file or what comes from standard input. The largest files that are read
take a third of it on a slow machine."""
PROCESS_SECONDS = 5.0
"""For the arguments of one process: anybody may start one that is called qemu."""

_AGAIN = 0.5
"""Seconds after which it is tried again: what is raised in a destructor is lost."""
_MERCY = 2.0
"""So many times the CPU time, and a worker process is ended from outside: some C code looks at no
signal before it is done."""

_AT_ONCE = 2

T = TypeVar("T")


class OutOfTime(BaseException):
    """Reading took too long."""


class _Clock:
    """Deadline clock of this process. ``deadly``: it may be ended from outside, since somebody sees
    to it."""

    running = False
    deadly = False
    listening = 0
    """The thread that signals reach, where that is known."""


class Deadline:
    """``seconds`` of CPU time for what is done inside of ``with``, all entries taken together.

    Does nothing inside another one, and in threads that signals do not reach.
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
        self._mine = _Clock.running = False  # first: what comes now is late, and passed over
        self._left, _again = signal.setitimer(signal.ITIMER_PROF, 0)
        if _Clock.deadly:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def within(seconds: float, items: Iterator[T]) -> Iterator[T]:
    """``items``; getting them may take ``seconds`` of CPU time together. What is done between them
    does not count, and is not ended. Raises OutOfTime.

    Most files hold one thing, so two are asked for at once: the clock is set once for it and for
    finding out that there is no other."""
    deadline = Deadline(seconds)
    while True:
        ready: list[T] = []
        try:
            with deadline:
                ready.extend(islice(items, _AT_ONCE))
        finally:  # what came before it failed is good
            yield from ready
        if len(ready) < _AT_ONCE:
            return


def is_timed() -> bool:
    """True while a deadline holds for the running work."""
    return _Clock.running


def kill_when_late() -> None:
    """From now on the kernel ends this process where a signal is not looked at: for workers."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    _Clock.running = False
    _Clock.deadly = True


def _listen() -> bool:
    """True where signals reach this thread. The handler is set once: that costs as much as a tenth
    of reading a small file."""
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
    """Not while the clock is set or stopped: it would go on, and end what comes next. C code that
    took long and raised has a signal waiting for the first call after it, which is ``__exit__``."""
    del number
    if _Clock.running and (frame is None or frame.f_code not in _OWN):
        raise OutOfTime
