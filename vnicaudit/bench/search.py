"""A search for the highest rate within the loss limit (partial drop rate, 0.5 %).

Semantics are those of MLRsearch (FD.io CSIT; draft-ietf-bmwg-mlrsearch), one goal: trials are
short, a load is judged by the majority of its seconds, bounds are narrowed by multiplicative
bisection. Added to that: a generator that did not offer the requested load says nothing about the
other end, so the unsent part is not loss, and a load that it cannot offer ends the search upwards
as *generator limited*. From vmtp comes a short cut: if less than 80 % came through, twice, the load
is decided, and the next estimate is the rate that came through.

One search is one noisy value: on a loopback two searches of one server differed by 15 %.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from statistics import fmean
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.errors import MeasureError


class LoadTrial(NamedTuple):
    """One load, offered for about a second. Rates are per second. ``offered`` is the load that was
    really sent; the loss is the share of *that* which was not ``answered``."""

    intended: float
    offered: float
    answered: float
    seconds: float


class SearchLimits(msgspec.Struct, frozen=True):
    """When a load is good, and when the search ends."""

    loss: float = 0.005
    """A trial is good if no larger share is lost."""
    trial_seconds: float = 1.0
    per_load_seconds: float = 7.0
    """A load is decided after that many seconds, or when the rest could not change it."""
    width: float = 1.05
    """The bounds are close enough at this ratio."""
    all_loss: float = 0.02
    """A load is not good if a larger share of everything offered at it is lost: a server that
    answers only every other second (response rate limiting) has seconds without loss, too."""
    exceed_ratio: float = 0.5
    """This share of the seconds may be bad at a load that is still good."""
    timeout_s: float = 120.0
    generator: float = 0.98
    """A trial that offered a smaller share of the requested load shows the generator's limit."""
    collapse: float = 0.8
    """A trial with a smaller share offered, or answered, is far off: two of them decide."""


class Searched(msgspec.Struct, frozen=True):
    """The result of a search. ``rate``: conditional throughput, the rate that came through at the
    lower bound in its worst second that has to count; 0 if no load was good."""

    rate: float
    lower: float
    """The highest load that was good; 0: none was."""
    upper: float | None
    """The lowest load that was not good; None: the time was over before one was found."""
    trials: tuple[LoadTrial, ...]
    """All trials, in order. The first is a warm-up and did not count."""
    generator_limited: bool
    """``upper`` is a load that the generator could not offer: the other end may sustain more."""
    complete: bool
    """The bounds are as close as requested; else they are the state when the time was over."""
    reason: str
    """Why it is incomplete, limited, or 0; empty otherwise."""


Try = Callable[[float, float], LoadTrial]
"""Offers a rate for some seconds."""


class _TimeIsOver(Exception):
    """Another trial would not end in time."""


def search(
    trial: Try,
    start: float,
    *,
    limits: SearchLimits = SearchLimits(),  # noqa: B008  (frozen)
    clock: Callable[[], float] = time.monotonic,
) -> Searched:
    """The highest rate within the loss limit, searched from ``start`` (the rate that came through
    at full speed), up and down. Loads are whole numbers. Raises MeasureError if a trial has no
    numbers."""
    if not 1 <= start < math.inf:
        return Searched(0.0, 0.0, None, (), False, False, "no rate to start from")
    timed = _Timed(trial, limits, clock)
    bracket = Bracket(limits.width)
    load: float | None = float(round(start))
    try:
        timed(float(round(start)))
        while load is not None:
            bracket.take(_decided_load(load, timed, limits))
            load = bracket.next_load()
    except _TimeIsOver:
        return _search_result(bracket, timed.trials, limits, complete=False)
    return _search_result(bracket, timed.trials, limits, complete=True)


class _Timed:
    """Trials within the time limit: none is started that would end too late if it took as long as
    the longest before it. All are kept."""

    def __init__(self, trial: Try, limits: SearchLimits, clock: Callable[[], float]) -> None:
        self.trials: list[LoadTrial] = []
        self._trial, self._limits, self._clock = trial, limits, clock
        self._end = clock() + limits.timeout_s
        self._longest = limits.trial_seconds

    def __call__(self, load: float) -> LoadTrial:
        began = self._clock()
        if began + self._longest > self._end:
            raise _TimeIsOver
        trial = self._trial(load, self._limits.trial_seconds)
        self._longest = max(self._longest, self._clock() - began)
        if not all(math.isfinite(number) and number >= 0 for number in trial):
            raise MeasureError(f"a trial at {load:g} per second came back without numbers")
        self.trials.append(trial)
        return trial


def _decided_load(load: float, timed: _Timed, limits: SearchLimits) -> DecidedLoad:
    """Offer a load until it is decided."""
    tally = _Tally(limits)
    while (verdict := tally.verdict()) is None:
        tally.add(timed(load))
    return DecidedLoad(load, verdict, tally.came_through(), tally.throughput())


class _Tally:
    """Seconds of one load, by their result."""

    def __init__(self, limits: SearchLimits) -> None:
        self._limits = limits
        self._seconds = dict.fromkeys(VERDICTS, 0.0)
        self._far = dict.fromkeys(VERDICTS, 0)
        self._trials: list[LoadTrial] = []
        self._losses: list[float] = []

    def add(self, trial: LoadTrial) -> None:
        """Add one trial, with its intended duration."""
        shown = _verdict(trial, self._limits)
        self._seconds[shown] += self._limits.trial_seconds
        passed = trial.offered / trial.intended if shown == "unoffered" else 1 - _loss(trial)
        self._far[shown] += passed < self._limits.collapse
        self._trials.append(trial)
        if shown != "unoffered":
            self._losses.append(_loss(trial))

    def verdict(self) -> Verdict | None:
        """The verdict on the load; None: it needs more trials."""
        allowed = self._limits.exceed_ratio * self._limits.per_load_seconds
        if self._seconds["good"] >= self._limits.per_load_seconds - allowed:
            return "good" if self._loss_share() <= self._limits.all_loss else "bad"
        for bad in ("bad", "unoffered"):
            if self._seconds[bad] > allowed or self._far[bad] >= _FAR_OFF:
                return bad
        return None

    def _loss_share(self) -> float:
        """Lost share of everything that was offered as requested, without the worst trial: that may
        have met a pause of the machine."""
        counted = [trial for trial in self._trials if _verdict(trial, self._limits) != "unoffered"]
        counted = sorted(counted, key=_loss)[:-1]
        offered = math.fsum(trial.offered for trial in counted)
        gone = math.fsum(max(0.0, trial.offered - trial.answered) for trial in counted)
        return gone / offered if offered else 0.0

    def came_through(self) -> float:
        """Answers per second of the offered load; if too little was offered, the offered load."""
        offered, answered = (fmean(getattr(t, n) for t in self._trials) for n in _RATES)
        return offered if self.verdict() == "unoffered" else answered

    def throughput(self) -> float:
        """Conditional throughput: the offered load without the loss that half of all seconds (as
        many as may be bad) did not exceed, with skipped seconds counted as lost."""
        needed = self._limits.per_load_seconds * (1 - self._limits.exceed_ratio)
        place = math.ceil(needed / self._limits.trial_seconds) - 1
        losses = sorted(self._losses)
        loss = losses[place] if place < len(losses) else 1.0
        return fmean(trial.offered for trial in self._trials) * (1 - loss)


_FAR_OFF = 2
"""Far-off trials that decide a load; a single one may be a pause of the machine."""
_RATES = ("offered", "answered")


def _loss(trial: LoadTrial) -> float:
    """Lost share of the offered load; late answers to earlier queries do not count as a gain."""
    return max(0.0, (trial.offered - trial.answered) / trial.offered) if trial.offered else 0.0


def _verdict(trial: LoadTrial, limits: SearchLimits) -> Verdict:
    """Verdict on one trial. Too much offered with some loss shows as little about this load as too
    little offered (dnsperf 2.10 catches up after a stall, DNS-OARC/dnsperf#224)."""
    if trial.offered < limits.generator * trial.intended:
        return "unoffered"
    if _loss(trial) <= limits.loss:
        return "good"
    return "unoffered" if trial.offered > trial.intended / limits.generator else "bad"


def _search_result(
    bracket: Bracket, trials: list[LoadTrial], limits: SearchLimits, *, complete: bool
) -> Searched:
    lower, upper = bracket.lower, bracket.upper
    return Searched(
        rate=lower.throughput if lower else 0.0,
        lower=lower.load if lower else 0.0,
        upper=upper.load if upper else None,
        trials=tuple(trials),
        generator_limited=upper is not None and upper.verdict == "unoffered",
        complete=complete,
        reason=_reason(bracket, limits, complete=complete),
    )


def _reason(bracket: Bracket, limits: SearchLimits, *, complete: bool) -> str:
    lower, upper = bracket.lower, bracket.upper
    if not complete:
        low = f"{lower.load:.0f}" if lower else "0"
        high = f"and {upper.load:.0f}" if upper else "and no known limit"
        return f"not finished after {limits.timeout_s:g} s: between {low} {high} per second"
    if upper and upper.verdict == "unoffered":
        return f"the generator did not offer {upper.load:.0f} per second"
    if lower is None and upper:
        return f"more than {100 * limits.loss:g} % are lost even at {upper.load:.0f} per second"
    return ""


Verdict = Literal["good", "bad", "unoffered"]
"""``unoffered``: the generator could not offer the load, so nothing is known of the other end."""

VERDICTS: tuple[Verdict, ...] = ("good", "bad", "unoffered")

_FURTHEST = 64
"""Limit of one step, in widths: without an upper bound, steps double; at 1.05 this is a factor of
22."""


class DecidedLoad(NamedTuple):
    """A load with its verdict. ``came_through``: an estimate of a load that would be good."""

    load: float
    verdict: Verdict
    came_through: float
    throughput: float


class Bracket:
    """The range between ``lower``, the highest good load, and ``upper``, the lowest that is not."""

    def __init__(self, width: float) -> None:
        self.lower: DecidedLoad | None = None
        self.upper: DecidedLoad | None = None
        self._width = width
        self._steps = 0
        self._guess: float | None = None
        self._guessed = False

    def take(self, judged: DecidedLoad) -> None:
        """Move the bound that this load changes."""
        if judged.verdict == "good":
            self.lower, self._guess = judged, None
        else:
            self.upper, self._guess = judged, judged.came_through

    def next_load(self) -> float | None:
        """The next load to try, a whole number; None: the bounds are close enough."""
        low = self.lower.load if self.lower else 0.0
        if self.upper is None:
            return max(low + 1, self._step(low, up=True))
        high = self.upper.load
        if high - low <= 1 or (low and high / low <= self._width):
            return None
        middle = self._middle(low, high)
        return min(max(middle, low + 1), high - 1)

    def _middle(self, low: float, high: float) -> float:
        """An estimate, but never twice in a row: an estimate may fail to halve the range."""
        guess, self._guess = self._guess, None
        self._guessed = not self._guessed and guess is not None and low < guess < high / self._width
        if self._guessed and guess is not None:
            return float(math.floor(guess))
        return float(round(math.sqrt(low * high))) if low else self._step(high, up=False)

    def _step(self, load: float, *, up: bool) -> float:
        self._steps += 1
        factor = self._width ** min(2**self._steps, _FURTHEST)
        return float(round(load * factor if up else load / factor))
