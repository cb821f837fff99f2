"""A terminal that hangs up, and guests that are off at that moment: what was begun is finished."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_HUNG_UP = "the terminal hung up (SIGHUP): what was begun is finished"


@contextmanager
def hang_up_noted() -> Iterator[Callable[[], str]]:
    """While this is entered, SIGHUP ends nothing. Yields what says why no more is to be begun;
    empty: nothing speaks against it. Who ignores SIGHUP (nohup) goes on as before."""
    seen = threading.Event()

    def halted() -> str:
        return _HUNG_UP if seen.is_set() else ""

    if threading.current_thread() is not threading.main_thread():
        yield halted
        return
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        yield halted
        return
    signal.signal(signal.SIGHUP, lambda _number, _frame: seen.set())
    try:
        yield halted
    finally:
        signal.signal(signal.SIGHUP, before if before is not None else signal.SIG_DFL)
