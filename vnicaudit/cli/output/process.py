"""This process: its streams and signals, and a terminal that hangs up while guests are off."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PLAIN = "vnicaudit.plain"
"""Name of the codec error handler for characters that the terminal's encoding lacks."""
_INSTEAD = {"→": ">", "←": "<", "…": "...", "─": "-", "│": "|", "├": "|", "└": "|", "µ": "u",
            "²": "2", "±": "+-", "·": ".", "≤": "<=", "≥": ">="}  # fmt: skip
"""Replacements with the same number of columns, or used only outside of tables."""
REPEATED_WITHIN = 1.0
"""Seconds after a signal within which another one is a repetition of it."""
_SOON = 0.01
"""Seconds, in which the destructor that was interrupted ends."""
_LOADING = 5.0
"""Seconds after a signal within which a module that is being loaded is not interrupted."""
_HUNG_UP = "the terminal was closed (SIGHUP): finishing what was started"


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters by similar ones of ASCII, all others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = (_INSTEAD.get(one) or one.encode("ascii", "backslashreplace").decode() for one in text)
    return "".join(shown), error.end


codecs.register_error(PLAIN, _plain)


def prepare() -> None:
    """Set up output and signals as the rest of vnicaudit needs them."""
    _occupy_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a character that the terminal cannot show becomes an escape instead of a crash
            with suppress(OSError, ValueError):  # closed, or replaced by another file
                stream.reconfigure(errors=PLAIN)
    _Ending.since = None
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminated)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _raise_again


_AT_END: list[Callable[[], object]] = []


def at_end(action: Callable[[], object]) -> None:
    """Call ``action`` when the command ends, however it does."""
    _AT_END.append(action)


def end() -> None:
    """Call what waits for the end of the command."""
    while _AT_END:
        _AT_END.pop()()


def _occupy_closed_streams() -> None:
    """Open /dev/null for each stream that was closed at the start (``>&-``). Otherwise the next
    opened file, perhaps a journal, would get its number, and a library writing to standard error
    would write into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


class _Ending:
    """Monotonic seconds since which a signal has been ending this process; None: none has."""

    since: float | None = None


def _terminated(number: int, frame: FrameType | None) -> None:
    """Let TERM and HUP end the run like an exception: worker processes and temporary files are
    cleaned up, and a guest being measured is restored. If that does not come to an end, a later
    TERM ends the process at once. ``timeout`` sends TERM twice (to its child and to its group):
    such a repetition means nothing, and neither does another HUP, which a closing terminal sends
    twice (the kernel and the shell), whenever it comes."""
    now = time.monotonic()
    if _Ending.since is None:
        _Ending.since = now
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _raise(SystemExit(128 + number), frame, until=now + _LOADING)
    if number != signal.SIGHUP and now - _Ending.since > REPEATED_WITHIN:
        os._exit(128 + number)


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise the exception of a signal again that came in a destructor or in a callback of the
    collector, where Python drops it."""
    error = lost.exc_value
    if not isinstance(error, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(lost)
        return

    _raise_soon(error, until=0)


def _raise(error: BaseException, frame: FrameType | None, *, until: float) -> None:
    """Raise it, but not inside an import before ``until``: Python's compiler and the beginning of a
    module in C may drop an exception."""
    if time.monotonic() < until and _is_importing(frame):
        _raise_soon(error, until=until)
    else:
        raise error


def _raise_soon(error: BaseException, *, until: float) -> None:
    signal.signal(signal.SIGALRM, lambda _number, frame: _raise(error, frame, until=until))
    signal.setitimer(signal.ITIMER_REAL, _SOON)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def hang_up_noted() -> Iterator[Callable[[], str]]:
    """Keep SIGHUP from ending the process inside this context. Yields a function that returns why
    nothing more should be started; empty: go on. If SIGHUP is already ignored (nohup), it stays
    ignored."""
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
