"""Signals that are held until the program that is being started is known."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals whose handlers end what is running, by an exception."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Call the handlers of signals that come inside this context at its end. An exception of theirs
    within ``subprocess.Popen`` would come after the program has started and before anybody knows
    its process: nobody could end it. They are not blocked (``pthread_sigmask``), because the
    program would inherit that.

    Signals without a handler in Python do what they always do. Only the main thread calls handlers:
    in others there is nothing to hold.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: found for each in _ENDING if callable(found := signal.getsignal(each))}
    came: dict[int, FrameType | None] = {}
    is_over = False

    def hold(number: int, frame: FrameType | None) -> None:
        if is_over:  # one that came before has kept this one from being set back
            before[signal.Signals(number)](number, frame)
        else:
            came[number] = frame

    try:
        for each in before:
            signal.signal(each, hold)
        yield
    finally:
        is_over = True
        try:
            for each, handler in before.items():
                signal.signal(each, handler)
        finally:
            _call(before, came)


def _call(handlers: Mapping[signal.Signals, _Handler], came: dict[int, FrameType | None]) -> None:
    """Call the handler of each signal that came, though another one raises; not of those that are
    ignored by now, as the handler of TERM does with HUP."""
    if not came:
        return
    number = next(iter(came))
    frame = came.pop(number)
    try:
        if callable(signal.getsignal(number)):
            handlers[signal.Signals(number)](number, frame)
    finally:
        _call(handlers, came)
