"""In which order, how many at once, and when to stop."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, time
from typing import TypeVar

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.result import Result

T = TypeVar("T")

_WINDOW = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")
_GOOD = ("applied", "already")
_BAD = ("failed", "rolled-back")
_UNTOUCHED = ("refused", "gone")
_POLL = 0.5


class Window(msgspec.Struct, frozen=True):
    """A time of day, local time, in which work may begin; over midnight where it ends before it
    begins."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> Window:
        """``22:00-04:00``. Raises UsageError for anything else."""
        found = _WINDOW.fullmatch(text.strip())
        try:
            if found is None:
                raise ValueError
            hours = [int(number) for number in found.groups()]
            begin, end = time(hours[0], hours[1]), time(hours[2], hours[3])
            if begin == end:
                raise ValueError
        except ValueError:
            raise UsageError(f"{text[:40]!r} is no window: give it as 22:00-04:00") from None
        return cls(begin, end)

    def is_open(self, now: datetime) -> bool:
        """True where work may begin at that local time."""
        clock = now.time()
        if self.begin < self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"


class Schedule(msgspec.Struct, frozen=True):
    """``canary``: how many go first, one after the other, each of which must be well. ``batch``:
    how many are under way at once then. ``max_failures``: how many may fail before it stops."""

    canary: int = 1
    batch: int = 1
    max_failures: int = 0
    window: Window | None = None

    def next(self, left: Sequence[T], done: Sequence[Result]) -> Sequence[T]:
        """The units to change now: one, until enough canaries have succeeded; then a batch. A unit
        that was refused or is gone does not count as a canary: it says nothing about the others."""
        well = sum(result.outcome in _GOOD for result in done)
        return left[: 1 if well < self.canary else self.batch]

    def stop(self, done: Sequence[Result], now: datetime, sources: Sequence[Result] = ()) -> str:
        """Why no more is begun; empty where it goes on. ``sources``: of images and flavors, which
        say nothing of guests: none of them is a canary."""
        bad = [result for result in (*sources, *done) if result.outcome in _BAD]
        canaries = [result for result in done if result.outcome not in _UNTOUCHED][: self.canary]
        if any(result.outcome not in _GOOD for result in canaries):
            return "a canary was not changed as planned"
        if len(bad) > self.max_failures:
            return f"{len(bad)} failed (--max-failures {self.max_failures})"
        if self.window is not None and not self.window.is_open(now):
            return f"outside the window {self.window}"
        return ""


def why_no_more(
    halted: Callable[[], str] | None,
    schedule: Schedule,
    done: Sequence[Result],
    now: datetime,
    sources: Sequence[Result] = (),
) -> str:
    """Why nothing more is begun; empty where it goes on: first what halts the program, then what
    the schedule says (:meth:`Schedule.stop`)."""
    return (halted() if halted is not None else "") or schedule.stop(done, now, sources)


def side_by_side(works: Sequence[Callable[[], None]]) -> None:
    """Do all at once, and wait for all. What one raises is raised when all have ended. An
    interruption (Ctrl-C) ends the waiting at once."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # raised by the one who waits
            errors.append(error)

    if len(works) == 1:
        works[0]()
        return
    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(_POLL)
    if errors:
        raise errors[0]
