"""In which order, how many at once, and when to stop."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.result import Result

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
            raise UsageError(f"{text[:40]!r} is not a window: write it as 22:00-04:00") from None
        return cls(begin, end)

    def is_open(self, now: datetime) -> bool:
        """True where work may begin at that local time."""
        clock = now.time()
        if self.begin < self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"


class AtTarget(Protocol):
    """Something at a target."""

    @property
    def target(self) -> str:
        """Where it is."""


class PlacedResult(NamedTuple):
    """How a unit at a target ended."""

    target: str
    result: Result


T = TypeVar("T", bound=AtTarget)
_ONE = ("",)
"""The group of all where there are no others."""
_ALL = "all"


class Schedule(msgspec.Struct, frozen=True):
    """``canary``: how many of each group go first, one after the other, each of which must be well.
    ``batch``: how many are under way at once then. ``max_failures``: how many may fail before it
    stops. ``groups``: target -> the groups of what is there (empty: all are one group)."""

    canary: int = 1
    batch: int = 1
    max_failures: int = 0
    window: Window | None = None
    groups: Mapping[str, tuple[str, ...]] = {}

    def next(self, left: Sequence[T], done: Sequence[PlacedResult]) -> Sequence[T]:
        """The units to change now: one, until enough canaries of each group have succeeded; then a
        batch. A unit that was refused or is gone does not count as a canary: it says nothing about
        the others."""
        good = (one.target for one in done if one.result.outcome in _GOOD)
        well = Counter(group for target in good for group in self._groups(target))
        for unit in left:
            if any(well[group] < self.canary for group in self._groups(unit.target)):
                return [unit]
        return left[: self.batch]

    def stop(
        self, done: Sequence[PlacedResult], now: datetime, sources: Sequence[Result] = ()
    ) -> str:
        """Why no more is begun; empty where it goes on. ``sources``: of images and flavors, which
        say nothing of guests: none of them is a canary."""
        results = (*sources, *(one.result for one in done))
        bad = sum(result.outcome in _BAD for result in results)
        if group := self._failed_group(done):
            return f"a canary{f' of {group}' * bool(self.groups)} was not changed as planned"
        if bad > self.max_failures:
            return f"{bad} failed (--max-failures {self.max_failures})"
        if self.window is not None and not self.window.is_open(now):
            return f"outside the window {self.window}"
        return ""

    def _failed_group(self, done: Sequence[PlacedResult]) -> str:
        """The first group of which a canary failed; empty: none."""
        seen: Counter[str] = Counter()
        for one in done:
            if one.result.outcome in _UNTOUCHED:
                continue
            for group in self._groups(one.target):
                seen[group] += 1
                if seen[group] <= self.canary and one.result.outcome not in _GOOD:
                    return group or _ALL
        return ""

    def _groups(self, target: str) -> tuple[str, ...]:
        return self.groups.get(target, _ONE)


def why_no_more(
    halted: Callable[[], str] | None,
    schedule: Schedule,
    done: Sequence[PlacedResult],
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
