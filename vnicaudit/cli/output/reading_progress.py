"""Shows the progress of an audit on standard error while targets are read."""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vnicaudit.audit.tally import RunProgress
from vnicaudit.base.opening import is_input_awaited
from vnicaudit.base.wording import count
from vnicaudit.cli.output.progress import QUIET_FOR, STALLED, ProgressLine, time_left
from vnicaudit.model.names import STANDARD_INPUT

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Target

_IN_FILES = ("path", "stdin", "together")
"""Kinds of targets that are files, not live connections."""


@contextmanager
def awaited_input(*, quiet: bool) -> Iterator[None]:
    """Show that the end of standard input is awaited, while it is read."""
    progress = Progress(enabled=not quiet)
    if is_input_awaited():
        progress.waits_for(STANDARD_INPUT)
    try:
        yield
    finally:
        progress.waits_no_more()
        progress.clear()


class Progress(RunProgress):
    """Counts domains and files as they are read. While nothing arrives, shows what it is waiting
    for and for how long.

    The waiting line is written by a thread from the first live target on, and while this process
    itself reads a pipe. Processes that read files must not be forked beside a thread: who waits for
    them has the line written.
    """

    def __init__(self, *, enabled: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._line = ProgressLine(enabled=enabled, clock=clock)
        self._target, self._target_started = "", clock()
        self._waiting_since = self._target_started
        self._waiting = ""
        self._last: tuple[str, int] | None = None
        self._place = ""
        self._files: tuple[int, int | None] = (0, None)
        self._lock = allocate_lock()  # like threading.Lock, which is slow to load

    @property
    def is_shown(self) -> bool:
        """True if it is worth counting the work in advance."""
        return self._line.is_enabled if self._line.on_terminal else self._line.is_due

    def waits_for(
        self, target: str, number: int = 1, total: int = 1, *, forks: bool = False
    ) -> None:
        """Show every second that a live target, or a pipe, is waited for, until it delivers
        something. ``forks``: without a thread, whenever ``still_waits`` is called."""
        with self._lock:
            self._waiting, self._waiting_since = target, self._clock()
            self._place = f" ({number:,} of {total:,})" if total > 1 else ""
            self._files = (0, None)
        if not forks:
            self._line.tick(self.show_waiting)

    def still_waits(self) -> None:
        """Show what is waited for, if it is time for that."""
        if self._line.is_due:
            self.show_waiting()

    def waits_for_live(self, targets: Sequence[Target]) -> None:
        """Show that the first target is waited for, if none of them is a file."""
        if targets and not any(target.kind in _IN_FILES for target in targets):
            self.waits_for(targets[0].name)

    def waits_no_more(self) -> None:
        """Stop waiting: the pipe has been read, and files may follow."""
        with self._lock:
            self._waiting = ""
        self._line.stop_ticking()

    def show_waiting(self) -> None:
        """Show what is waited for, and for how long."""
        with self._lock:
            seconds = self._clock() - self._waiting_since
            if not (self._line.on_terminal or self._line.is_due):
                return
            if self._waiting:
                awaits_end = self._waiting == STANDARD_INPUT
                state = "waiting for its end" if awaits_end else "no answer yet"
                self._line.show(f"{self._waiting}{self._place}: {state}, {seconds:.0f} s")
            elif self._last is not None and seconds > STALLED:
                self._line.show(f"{self._text(*self._last)}; no progress for {seconds:.0f} s")

    def read_files(self, done: int, total: int | None) -> None:
        """Note how many files of a target were read."""
        self._files = done, total

    def __call__(self, target: str, domains: int) -> None:
        """Note that ``domains`` of ``target`` are done."""
        now = self._clock()
        with self._lock:
            # its time started when the previous target last delivered something
            if target != self._target:
                self._target, self._target_started = target, self._waiting_since
            self._waiting, self._waiting_since, self._last = "", now, (target, domains)
            if self._line.is_due:
                self._line.show(self._text(target, domains))

    def _text(self, target: str, domains: int) -> str:
        seconds = max(self._clock() - self._target_started, QUIET_FOR)
        rate = round(domains / seconds)
        parts = [count(domains, "guest"), f"{rate:,}/s" if rate else ""]
        done, total = self._files
        if total is not None:
            parts.insert(0, f"{done:,} of {count(total, 'file')}")
            parts.append(time_left(done, total, seconds))
        return f"{target}{self._place}: {', '.join(filter(None, parts))}"

    def clear(self) -> None:
        """Erase the progress line before results are printed."""
        with self._lock:
            self._waiting, self._last = "", None
            self._line.clear()
