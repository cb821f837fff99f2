"""The schedule of a run: its order, how many units at once, and when to stop."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time

import msgspec

from vnicaudit.errors import UsageError

_WINDOW = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")
_POLL = 0.5


class Window(msgspec.Struct, frozen=True):
    """A time of day, local time, in which work may start; it spans midnight if it ends before it
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
            raise UsageError(f"{text[:40]!r} is not a window: write it as 22:00-04:00") from None
        return cls(begin, end)

    def is_open(self, now: datetime) -> bool:
        """True if work may start at that local time."""
        clock = now.time()
        if self.begin < self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"


_ONE = ("",)
"""The only group if there are no others."""


class Schedule(msgspec.Struct, frozen=True):
    """``canary``: how many units of each group are changed first, one after the other; all must
    succeed. ``batch``: how many units are changed at once after that. ``max_failures``: how many
    may fail before the run stops. ``groups``: target -> the groups of its units (empty: all are one
    group)."""

    canary: int = 1
    batch: int = 1
    max_failures: int = 0
    window: Window | None = None
    groups: Mapping[str, tuple[str, ...]] = {}

    def groups_of(self, target: str) -> tuple[str, ...]:
        """The groups that units at a target belong to."""
        return self.groups.get(target, _ONE)


def side_by_side(works: Sequence[Callable[[], None]]) -> None:
    """Do all at once, and wait for all. An exception of one of them is raised when all have ended.
    An interruption (Ctrl-C) ends the waiting at once."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # raised in the waiting thread
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
