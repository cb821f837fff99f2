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

_PATIENCE = 2.0
"""Seconds a reader may take to make room, once; from then on nothing waits for it."""
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
        if self._untold and self._put(descriptor, _missed(self._untold).encode()):
            self._untold = 0
        if self._untold or not self._put(descriptor, text.encode(encoding, "backslashreplace")):
            self._untold += 1

    def _put(self, descriptor: int, data: bytes) -> bool:
        """Whether there was room for it in time."""
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
    return f"… {lines:,} line{'s' * (lines != 1)} could not be told here\n"


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
