"""This process: its streams and signals, and a terminal that hangs up while guests are off."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PLAIN = "vnicaudit.plain"
"""Name of the way in which a terminal gets what its encoding does not have."""
_INSTEAD = {"→": ">", "←": "<", "…": "...", "─": "-", "│": "|", "├": "|", "└": "|", "µ": "u",
            "²": "2", "±": "+-", "·": ".", "≤": "<=", "≥": ">="}  # fmt: skip
"""One column for one column wherever it stands in a table."""
_HUNG_UP = "the terminal was closed (SIGHUP): finishing what was started"


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Characters that are as good, and escapes for all others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = (_INSTEAD.get(one) or one.encode("ascii", "backslashreplace").decode() for one in text)
    return "".join(shown), error.end


codecs.register_error(PLAIN, _plain)


def prepare() -> None:
    """Make output and signals what the rest relies on."""
    _occupy_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a character gets its escape, not a crash
            with suppress(OSError, ValueError):  # it is closed, or another file by now
                stream.reconfigure(errors=PLAIN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminated)


def _occupy_closed_streams() -> None:
    """A stream that was closed at the start (``>&-``) gives its number to the next file that is
    opened, and a library that complains on standard error would write into that: a journal."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def _terminated(number: int, frame: object) -> None:
    """TERM and HUP end the run as an exception does: worker processes and temporary files are
    cleaned up on the way out, and a guest that is measured is given back. A terminal that goes away
    says so twice, by the kernel and by the shell: the second time ends none of that."""
    del frame
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise SystemExit(128 + number)


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
