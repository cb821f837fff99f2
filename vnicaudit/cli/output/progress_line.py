"""A line of progress on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from vnicaudit.cli.output.process import at_end
from vnicaudit.cli.output.stderr import EVERY, QUIET_FOR, Rewritten, is_terminal, tell

LONG = 30.0
"""Seconds of work after which progress is shown if there is no terminal."""
STALLED = 2.0
"""Seconds without news, or in one state, after which that is shown."""
_SELDOM = 300.0
"""Maximum seconds between two lines if there is no terminal."""


class ProgressLine:
    """On a terminal, one line that is rewritten. Elsewhere (the log of a CI job), long work gets
    lines of its own: after half a minute, then each time the work has taken twice as long, but at
    least every five minutes."""

    def __init__(self, *, enabled: bool, clock: Callable[[], float]) -> None:
        self.on_terminal = is_terminal()
        self.is_enabled = enabled and sys.stderr is not None
        self._clock = clock
        self._started = clock()
        self._next = self._started + (QUIET_FOR if self.on_terminal else LONG)
        self._rewritten = Rewritten()
        self._ticking: tuple[threading.Thread, threading.Event] | None = None

    @property
    def is_due(self) -> bool:
        """True if it is time for another line."""
        return self.is_enabled and self._clock() >= self._next

    def show(self, text: str) -> None:
        """Write the line now."""
        now = self._clock()
        if self.on_terminal:
            self._next = now + EVERY
            self._rewritten.show(text)
            return
        from vnicaudit.reports.safe import safe

        self._next = now + min(max(now - self._started, LONG), _SELDOM)
        tell(safe(text))

    def clear(self) -> None:
        """Erase the line on a terminal, so that something else can be written."""
        self._rewritten.clear()

    def tick(self, action: Callable[[], None]) -> None:
        """Call ``action`` every second from now on, in a thread, until the command ends, however it
        does. Only the first call starts one."""
        if self.is_enabled and self._ticking is None:
            end = threading.Event()
            at_end(end.set)
            thread = threading.Thread(target=_each_second, args=(action, end), daemon=True)
            self._ticking = thread, end
            thread.start()

    def stop_ticking(self) -> None:
        """End the thread, so that processes may be forked from now on."""
        if self._ticking is not None:
            thread, end = self._ticking
            end.set()
            thread.join()
            self._ticking = None


def _each_second(action: Callable[[], None], end: threading.Event) -> None:
    while not end.wait(QUIET_FOR):
        action()
