"""Standard error: what is told there is best effort, and never stops what is being done.

The reader may have gone away (a pipe to ``tee``), have stopped reading (a pipe that is full, a
terminal on which somebody pressed Ctrl-S), or be a terminal that hung up. A guest may be off at
that moment, and is worth more than a line.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

from vnicaudit.base.wording import count

_PATIENCE = 2.0
"""Seconds a reader may take to make room, once; from then on nothing waits for it."""
QUIET_FOR = 1.0
"""Seconds before the first line of progress is shown: short work shows none."""
EVERY = 0.2
"""Seconds between two lines of progress."""
_PIECE = 512
"""Bytes written at once: a pipe that can be written to has room for PIPE_BUF, which is no less."""


class _Stderr:
    """Writes to standard error without waiting for its reader for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._untold = 0

    def write(self, text: str) -> None:
        """Write it, or drop it. Raises nothing that a stream raises."""
        with self._lock:
            try:
                self._write(text)
            except (OSError, ValueError):  # nobody reads it; it was closed
                self._untold += 1

    def _write(self, text: str) -> None:
        stream = sys.stderr
        if stream is None:
            return
        stream.flush()
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError, AttributeError):
            stream.write(text)  # it stands for standard error, and nobody can be waited for
            stream.flush()
            return
        encoding = stream.encoding or "utf-8"
        if self._untold and self._write_in_time(descriptor, _missed(self._untold).encode()):
            self._untold = 0
        if self._untold or not self._write_in_time(
            descriptor, text.encode(encoding, "backslashreplace")
        ):
            self._untold += 1

    def _write_in_time(self, descriptor: int, data: bytes) -> bool:
        """True where all of ``data`` was written in time."""
        end = time.monotonic() + (0 if self._untold else _PATIENCE)
        while data:
            if not _has_room(descriptor, max(0.0, end - time.monotonic())):
                return False
            data = data[os.write(descriptor, data[:_PIECE]) :]
        return True


def _has_room(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    events = poll.poll(seconds * 1000)
    # without a reader there is room too: writing says what is wrong
    return bool(events)


def _missed(lines: int) -> str:
    return f"… {count(lines, 'line')} could not be told here\n"


_STDERR = _Stderr()


def tell(text: str) -> None:
    """A line on standard error; nothing where nobody reads that."""
    _STDERR.write(f"{text}\n")


def show(text: str) -> None:
    """A piece of a line on standard error: progress."""
    _STDERR.write(text)


def telling(*, quiet: bool) -> Callable[[str, str], None]:
    """Says on standard error what happens to which domain, one line each."""
    from vnicaudit.reports.safe import safe

    def say(name: str, text: str) -> None:
        if not quiet:
            tell(safe(f"{name}: {text}"))

    return say


class Rewritten:
    """One line of a terminal that rewrites itself."""

    def __init__(self) -> None:
        self._visible = False

    def show(self, text: str) -> None:
        """In place of what it said before."""
        from vnicaudit.reports.safe import safe

        self._visible = True
        show(f"\r\x1b[K{safe(text)}")

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._visible:
            show("\r\x1b[K")
            self._visible = False


class Progress:
    """Counts domains while they come in; a terminal sees one line that rewrites itself."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._started = self._shown = time.monotonic()
        self._line = Rewritten()

    def __call__(self, target: str, domains: int) -> None:
        """Note that ``domains`` of ``target`` are done."""
        if not self._enabled:
            return
        now = time.monotonic()
        if now - self._started < QUIET_FOR or now - self._shown < EVERY:
            return
        self._shown = now
        rate = domains / (now - self._started)
        self._line.show(f"{target}: {domains} domains, {rate:.0f}/s")

    def clear(self) -> None:
        """Take the line away before results are printed."""
        self._line.clear()
