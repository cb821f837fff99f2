"""The units of a run in the order of its schedule: the remaining ones, and counts of the others."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, time
from itertools import islice

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.journal.events import Result, UnitRequest

# The schedule of a run: its order, how many units at once, and when to stop.


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


def in_parallel(works: Sequence[Callable[[], None]]) -> None:
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


_GOOD = ("applied", "already")
_BAD = ("failed", "rolled-back")
_UNTOUCHED = ("refused", "gone")
_ALL = "all"
_ENDED: dict[Outcome, str] = {
    "failed": "failed", "rolled-back": "was rolled back", "unfinished": "is unfinished",
}  # fmt: skip


class UnitQueue:
    """The units of a run, in their order. The ``sources`` (images and flavors) come first, one by
    one; none of them is a canary, as they tell nothing about guests."""

    def __init__(
        self, schedule: Schedule, units: Iterable[UnitRequest], sources: Iterable[UnitRequest] = ()
    ) -> None:
        self._schedule = schedule
        self._sources = {unit.key: unit for unit in sources}
        self._left = {unit.key: unit for unit in units}
        waiting = (*self._sources.values(), *self._left.values())
        self._targets = Counter(unit.target for unit in waiting)
        self._left_of = Counter(
            group for unit in self._left.values() for group in schedule.groups_of(unit.target)
        )
        self._well: Counter[str] = Counter()
        self._canaries: Counter[str] = Counter()
        self._failed_canary = ""
        """The canary that failed first, its group, and how it ended."""
        self._bad = 0

    @property
    def targets(self) -> Collection[str]:
        """The targets with remaining units; empty: the run is over."""
        return self._targets.keys()

    def count(self, unit: UnitRequest, result: Result) -> None:
        """Count a unit that has ended."""
        self._bad += result.outcome in _BAD
        if self._sources.pop(unit.key, None) is None:
            del self._left[unit.key]
            for group in self._schedule.groups_of(unit.target):
                self._count_in(group, unit, result.outcome)
        _take_one(self._targets, unit.target)

    def next(self) -> list[UnitRequest]:
        """The units to change now: a source; else one unit, until enough canaries of each group
        have succeeded; then a batch. A unit that was refused or is gone does not count as a canary:
        it tells nothing about the others."""
        if self._sources:
            return [next(iter(self._sources.values()))]
        short = {group for group in self._left_of if self._well[group] < self._schedule.canary}
        for unit in self._left.values() if short else ():
            if not short.isdisjoint(self._schedule.groups_of(unit.target)):
                return [unit]
        return list(islice(self._left.values(), self._schedule.batch))

    def stop(self, now: datetime, halted: Callable[[], str] | None = None) -> str:
        """The reason to start no more units; empty: go on. ``halted``: the reason that lies outside
        the schedule."""
        if halted is not None and (reason := halted()):
            return reason
        if self._failed_canary:
            return self._failed_canary
        if self._bad > self._schedule.max_failures:
            return f"{self._bad} failed (--max-failures {self._schedule.max_failures})"
        window = self._schedule.window
        if window is not None and not window.is_open(now):
            return f"outside the window {window}"
        return ""

    def _count_in(self, group: str, unit: UnitRequest, outcome: Outcome) -> None:
        _take_one(self._left_of, group)
        well = outcome in _GOOD
        self._well[group] += well
        if outcome not in _UNTOUCHED and self._canaries[group] < self._schedule.canary:
            self._canaries[group] += 1
            if not well and not self._failed_canary:
                named = f" of {group or _ALL}" if self._schedule.groups else ""
                self._failed_canary = f"{unit.name}, a canary{named}, {_ENDED[outcome]}"


def _take_one(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
