"""A line of progress on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from vnicaudit.cli.output.stderr import EVERY, QUIET_FOR, Rewritten, is_terminal, tell

LONG = 30.0
"""Seconds of work after which progress is told where no terminal is."""
STALLED = 2.0
"""Seconds in which nothing comes, or one thing lasts, after which that is told."""
_SELDOM = 300.0
"""Seconds between two lines there, at most."""


class ProgressLine:
    """A terminal sees one line that rewrites itself. Elsewhere (the log of a CI job) work that
    takes long is told in lines of their own: after half a minute, and then each time it has
    taken twice as long, but every five minutes at least."""

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
        """True where it is time for another line."""
        return self.is_enabled and self._clock() >= self._next

    def show(self, text: str) -> None:
        """Write it now."""
        now = self._clock()
        if self.on_terminal:
            self._next = now + EVERY
            self._rewritten.show(text)
            return
        from vnicaudit.reports.safe import safe

        self._next = now + min(max(now - self._started, LONG), _SELDOM)
        tell(safe(text))

    def clear(self) -> None:
        """Take the line of a terminal away, so that something else can be written."""
        self._rewritten.clear()

    def tick(self, action: Callable[[], None]) -> None:
        """Call ``action`` every second from now on, in a thread, of which there is one."""
        if self.is_enabled and self._ticking is None:
            end = threading.Event()
            thread = threading.Thread(target=_each_second, args=(action, end), daemon=True)
            self._ticking = thread, end
            thread.start()

    def stop_ticking(self) -> None:
        """End the thread: processes may be forked from now on."""
        if self._ticking is not None:
            thread, end = self._ticking
            end.set()
            thread.join()
            self._ticking = None


def _each_second(action: Callable[[], None], end: threading.Event) -> None:
    while not end.wait(QUIET_FOR):
        action()
