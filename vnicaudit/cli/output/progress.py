"""Standard error: messages, questions, and progress, above all while targets are read."""

from __future__ import annotations

import os
import select
import shutil
import sys
import threading
import time
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress

import click

from vnicaudit.base.wording import count
from vnicaudit.cli.output.process import at_end
from vnicaudit.errors import UsageError
from vnicaudit.reports.safe import safe, width_of

# Standard error: best effort, and never stops the work.
#
# Its reader may have gone away (a pipe to ``tee``), or stopped reading (a full pipe, a terminal
# after Ctrl-S), or be a terminal that hung up. A guest may be off at that moment, and matters more
# than a line of output.


_PATIENCE = 2.0
"""Seconds that a reader gets, once, to make room; afterwards nothing waits for it."""
_PIECE = 512
"""Bytes written at once: a pipe that polls as writable has room for PIPE_BUF, which is at least
this."""


class _Stderr:
    """Writes to standard error without waiting long for its reader."""

    def __init__(self) -> None:
        self._lock = allocate_lock()  # like threading.Lock, which is slow to load
        self._untold = 0
        self._rewritable: object = None
        """The stream whose cursor is behind a rewritable line; None: no stream."""

    def write(self, text: str, *, rewritable: bool = False) -> None:
        """Write the text, replacing a rewritable line, or drop it. Does not raise errors of the
        stream."""
        with self._lock:
            stands = self._rewritable is not None and self._rewritable is sys.stderr
            erased = _ERASE if stands or rewritable else ""
            self._rewritable = sys.stderr if rewritable and text else None
            try:
                self._write(f"{erased}{text}")
            except (OSError, ValueError):  # no reader, or it is closed
                self._untold += 1

    def _write(self, text: str) -> None:
        stream = sys.stderr
        if stream is None:
            return
        stream.flush()
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError, AttributeError):
            stream.write(text)  # a stand-in for standard error, which cannot be polled
            stream.flush()
            return
        encoding = stream.encoding or "utf-8"
        if self._untold and self._write_in_time(descriptor, _missed(self._untold).encode()):
            self._untold = 0
        if self._untold or not self._write_in_time(
            descriptor, text.encode(encoding, stream.errors or "backslashreplace")
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
    # poll also reports a vanished reader; the write then raises the error
    return bool(events)


def _missed(lines: int) -> str:
    return f"… {count(lines, 'line')} could not be shown here\n"


_ERASE = "\r\x1b[K"
_STDERR = _Stderr()


def is_terminal() -> bool:
    """True where standard error is a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError, AttributeError):  # it is closed, or a stand-in
        return False


def tell(text: str) -> None:
    """Write a line on standard error; dropped if nobody reads it."""
    _STDERR.write(f"{text}\n")


def show(text: str) -> None:
    """Write part of a line on standard error, for progress."""
    _STDERR.write(text)


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless ``yes``. Raises UsageError if nobody can answer,
    click.exceptions.Exit (130) if the answer is no."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("not a terminal: pass --yes to go ahead without asking")
    try:
        sure = click.confirm(question, err=True)
    except OSError as error:
        raise UsageError(
            f"cannot ask: {error.strerror}; pass --yes to go ahead without asking"
        ) from None
    if not sure:
        tell("Nothing was changed.")
        raise click.exceptions.Exit(130)


class Rewritten:
    """A line of the terminal that is rewritten."""

    def __init__(self) -> None:
        self._visible = False

    def show(self, text: str) -> None:
        """Replace the line."""
        self._visible = True
        _STDERR.write(_cut(safe(text)), rewritable=True)

    def clear(self) -> None:
        """Erase the line, so that something else can be written."""
        if self._visible:
            _STDERR.write("", rewritable=True)
            self._visible = False


def _cut(text: str) -> str:
    """Cut the text to one line of the terminal; a longer one could not be rewritten."""
    room = max(20, _columns()) - 1
    if width_of(text) <= room:
        return text
    while width_of(text) >= room:
        text = text[:-1]
    return f"{text}…"


def _columns() -> int:
    """Columns of the terminal on standard error; standard output may be a file."""
    if not os.environ.get("COLUMNS"):
        with suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(sys.stderr.fileno()).columns or 80

    return shutil.get_terminal_size().columns


QUIET_FOR = 1.0
"""Seconds before the first line of progress: short work shows none."""
EVERY = 0.2
"""Seconds between two lines of progress."""
_EARLY = 3
"""Number done before the rate is considered meaningful."""
_SOON = 5.0
"""Remaining times below this many seconds are not shown."""
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


def time_left(done: int, total: int, seconds: float) -> str:
    """``4 min left`` at the rate so far; empty if it is too early to say, or nearly done."""
    if done < _EARLY or done >= total:
        return ""
    left = seconds / done * (total - done)
    if left < _SOON:
        return ""
    return f"{left:.0f} s left" if left < 100 else f"{left / 60:.0f} min left"
