"""The maximum number of runs of a measurement, and how long they still take; who is told of
its progress.

Estimated from the profile at first, and from the time that the warm-up took beyond its load (on a
slow guest starting a tool takes longer than the run); then corrected by every observed run and
change, repeats included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from vnicaudit.base.deadlines import seconds_between
from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.profiles.profile import SETUP, Profile, sample_seconds
from vnicaudit.model.measurement import Design, Sample, Workload

_RECENT = 8
"""Number of recent runs of a workload whose mean is the estimate for the next one."""
_REPEATED = 1.05
"""Assumed runs for each one that counts, as others are repeated, until it is observed."""
_SWAP, _BOOT = 20.0, 60.0
"""Assumed seconds of a hot swap, and of a power cycle, until one was observed."""
_COLD = 0.75
"""Share of a tool's first start-up time that later ones take: its files are cached then."""
_CHECKS = 0.1
"""Time for the guard rails after the last run of a visit, as a share of its preparation, until they
were checked once."""
_WITNESS = 3.0
"""Seconds that ping and a connection take after the first run of an arm."""
_LONGEST_PAUSE = 3600.0
"""A longer pause means that somebody stopped the program between two runs."""


class Ahead(NamedTuple):
    """The position of a measurement. ``number``: of the run that starts, from 1; ``most``: maximum
    number of runs, without repeats. ``remaining``: seconds to the end if all are needed;
    ``soonest``: seconds to the next point at which it may end."""

    number: int
    most: int
    remaining: float
    soonest: float


class Listener(Protocol):
    """Is told the progress; whatever it does, it must not load the machine."""

    def prepares(self, text: str) -> None:
        """Work before or after a run starts: ``warming up``."""

    def begins(self, ahead: Ahead) -> None:
        """A stretch of runs begins."""

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """A run begins."""

    def sampled(self, sample: Sample) -> None:
        """A run has ended."""

    def says(self, text: str) -> None:
        """Anything else worth knowing."""


class VisitPlan(NamedTuple):
    """``looks``: runs per arm at which it may end. ``visits``: how often an arm is reached by a
    change, which takes ``change`` seconds; 1: nothing is changed between the runs. ``per_visit``:
    runs of a workload in one of many visits."""

    arms: int
    looks: tuple[int, ...]
    visits: int = 1
    change: float = 0.0
    per_visit: int = 1


def visit_plan_of(
    design: Design,
    arms: int,
    looks: tuple[int, ...],
    runs_per_turn: int = 1,
    *,
    restarts: bool = False,
) -> VisitPlan:
    """The schedule of a design. ``looks``: in turns, if it takes turns; ``restarts``: the one
    change of a single flip is a power cycle."""
    if design == "single":
        return VisitPlan(arms, looks[:1])
    if design == "single-flip":
        return VisitPlan(arms, looks[-1:], arms, _BOOT if restarts else _SWAP)
    if design in TURNS:
        runs = tuple(look * runs_per_turn for look in looks)
        change = _BOOT if design == "boots" else _SWAP
        return VisitPlan(arms, runs, arms * looks[-1], change, runs_per_turn)
    return VisitPlan(arms, looks)


class Forecast:
    """``samples``: the samples of an earlier stretch, or of an interrupted process."""

    def __init__(
        self, profile: Profile, schedule: VisitPlan, samples: Sequence[Sample] = ()
    ) -> None:
        self._profile = profile
        self._schedule = schedule
        self._workloads = {workload.id: workload for workload in profile.workloads}
        self._took: dict[str, list[float]] = {}
        self._extra = 0.0
        self._ready: float | None = None
        self._checks: float | None = None
        self._changes: list[float] = []
        for one, after in pairwise(samples):
            seconds = _between(one, after)
            if one.arm == after.arm and seconds is not None:
                self.took(one.workload, seconds)

    def warmed_up(self, workload: Workload, seconds: float) -> None:
        """Learn from a short run that took that long, from its preparation to its end: the time
        beyond its load is needed for every run."""
        extra = seconds - SETUP - workload.warmup - workload.seconds
        self._extra = max(self._extra, _COLD * extra)

    def took(self, workload: str, seconds: float, *, again: bool = False) -> None:
        """Learn from a run that took that long, including the work before and after it. ``again``:
        it repeated the one before, so both count as one."""
        found = self._took.setdefault(workload, [])
        if again and found:
            found[-1] += seconds
        else:
            found.append(seconds)

    def prepared(self, seconds: float) -> None:
        """Learn the time before the first run of a visit; from the second visit on it is counted
        from the last run of the one before, so it includes a change."""
        if self._ready is None:
            self._ready = seconds
        else:
            self._changes.append(seconds)

    def checked(self, seconds: float) -> None:
        """Learn the time that the guard rails of one arm take."""
        self._checks = seconds

    def ahead(self, samples: Iterable[Sample], slot: Slot) -> Ahead:
        """The forecast when the run in this slot starts, or is repeated."""
        mine = (slot.workload, slot.arm, slot.block)
        made = {(one.workload, one.arm, one.block) for one in samples} - {mine}
        each = self._schedule.arms * self._schedule.looks[-1]
        blocks = len({key for key in made if key[1] == slot.arm and key[0] == slot.workload})
        look = next((n for n in self._schedule.looks if n > blocks), self._schedule.looks[-1])
        return Ahead(
            number=len(made) + 1,
            most=each * len(self._workloads),
            remaining=self._seconds(made, slot, self._schedule.looks[-1]),
            soonest=self._seconds(made, slot, look),
        )

    def _seconds(self, made: set[tuple[str, str, int]], slot: Slot, look: int) -> float:
        """Seconds until ``look`` runs of each arm are made."""
        runs = 0.0
        for name in self._workloads:
            done = sum(key[0] == name for key in made)
            runs += max(0, self._schedule.arms * look - done) * self._of_a_run(name)
        visits = self._visits_left(made, slot, look)
        ends = visits + 1 if self._schedule.visits > 1 else self._schedule.arms
        checks = _CHECKS * (self._ready or 0.0) if self._checks is None else self._checks
        fresh = self._schedule.arms - len({arm for _, arm, _ in made})
        return runs + visits * self._of_a_change() + ends * checks + fresh * _WITNESS

    def _visits_left(self, made: set[tuple[str, str, int]], slot: Slot, look: int) -> int:
        """Number of remaining changes."""
        total = self._schedule.visits
        if total == 1:
            return 0
        if total == self._schedule.arms:  # one change between all runs of one arm and the next
            return total - len({arm for _, arm, _ in made} | {slot.arm})
        runs = self._schedule.per_visit
        seen = {(arm, block // runs) for _, arm, block in made} | {(slot.arm, slot.block // runs)}
        return max(0, self._schedule.arms * look // runs - len(seen))

    def _of_a_change(self) -> float:
        if self._changes:
            return _mean(self._changes[-_RECENT:])
        return self._schedule.change + (self._ready or 0.0) / 2

    def _of_a_run(self, name: str) -> float:
        """The observed time; else the usual one, plus the mean extra time of the others."""
        seen = self._took.get(name)
        if seen:
            return _mean(seen[-_RECENT:])
        beyond = [_mean(took) - self._usual(other) for other, took in self._took.items()
                  if other in self._workloads]  # fmt: skip
        extra = _mean(beyond) if beyond else self._extra
        return max(self._usual(name) + extra, SETUP) * (1.0 if beyond else _REPEATED)

    def _usual(self, name: str) -> float:
        return sample_seconds(self._workloads[name]) + self._profile.cooldown


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _between(one: Sample, after: Sample) -> float | None:
    """Seconds from the start of a run to that of the next; None if they are not meaningful."""
    seconds = seconds_between(one.started, after.started)
    return seconds if seconds and seconds < _LONGEST_PAUSE else None
