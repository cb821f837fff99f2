"""Calls that may never return, each with a deadline."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from vnicaudit.base.waiting import next_of

T = TypeVar("T")


class TimeUpError(Exception):
    """Nothing came back before the deadline."""


class DaemonCall(Generic[T]):
    """One function, called in a daemon thread of that name, so that the caller can stop waiting for
    a call that cannot be cancelled."""

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        self._answer: queue.SimpleQueue[tuple[list[T], BaseException | None]] = queue.SimpleQueue()
        self._function = function
        self._name = name
        self._thread = _free_thread()
        self._thread.give(self._work)

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
        threading.current_thread().name = self._name
        answer: tuple[list[T], BaseException | None]
        try:
            answer = [self._function()], None
        except BaseException as error:  # raised again in the waiting thread
            answer = [], error
        self._thread.be_free()  # first: the waiting thread may call again at once
        self._answer.put(answer)


class _Thread:
    """A thread that makes one call after another, because starting a thread takes longer than most
    calls. A thread whose call never returns is not reused."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def give(self, call: Callable[[], None]) -> None:
        """Make a call in this thread."""
        self._given.put(call)

    def be_free(self) -> None:
        """Mark the thread as idle."""
        _idle.append(self)

    def _work(self) -> None:
        while True:
            self._given.get()()


_idle: deque[_Thread] = deque()
os.register_at_fork(after_in_child=_idle.clear)


def _free_thread() -> _Thread:
    try:
        return _idle.pop()
    except IndexError:
        return _Thread()
