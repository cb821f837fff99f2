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
    trials = _TimedTrials(trial, limits, clock)
    bracket = Bracket(limits.width)
    load: float | None = float(round(start))
    try:
        trials.offer(float(round(start)))
        while load is not None:
            bracket.take(trials.decide(load))
            load = bracket.next_load()
    except _TimeIsOver:
        return _search_result(bracket, trials.made, limits, complete=False)
    return _search_result(bracket, trials.made, limits, complete=True)


class _TimedTrials:
    """Trials within the time limit: none is started that would end too late if it took as long as
    the longest before it. ``made``: all of them."""

    def __init__(self, trial: Try, limits: SearchLimits, clock: Callable[[], float]) -> None:
        self.made: list[LoadTrial] = []
        self._trial, self._limits, self._clock = trial, limits, clock
        self._end = clock() + limits.timeout_s
        self._longest = limits.trial_seconds

    def offer(self, load: float) -> LoadTrial:
        """Offer a load once."""
        began = self._clock()
        if began + self._longest > self._end:
            raise _TimeIsOver
        trial = self._trial(load, self._limits.trial_seconds)
        self._longest = max(self._longest, self._clock() - began)
        if not all(math.isfinite(number) and number >= 0 for number in trial):
            raise MeasureError(f"a trial at {load:g} per second came back without numbers")
        self.made.append(trial)
        return trial

    def decide(self, load: float) -> DecidedLoad:
        """Offer a load until it is decided. What came through: the answers per second; if too
        little was offered, the offered load. Conditional throughput: the offered load without the
        loss that half of all seconds (as many as may be bad) did not exceed, with skipped seconds
        counted as lost."""
        limits, made = self._limits, [self.offer(load)]
        while (verdict := _verdict_on_load(made, limits)) is None:
            made.append(self.offer(load))
        offered = fmean(trial.offered for trial in made)
        answered = fmean(trial.answered for trial in made)
        needed = limits.per_load_seconds * (1 - limits.exceed_ratio)
        place = math.ceil(needed / limits.trial_seconds) - 1
        losses = sorted(_loss(each) for each in made if _verdict(each, limits) != "unoffered")
        loss = losses[place] if place < len(losses) else 1.0
        through = offered if verdict == "unoffered" else answered
        return DecidedLoad(load, verdict, through, offered * (1 - loss))


def _verdict_on_load(made: list[LoadTrial], limits: SearchLimits) -> Verdict | None:
    """The verdict on the load of these trials; None: it needs more."""
    verdicts = [_verdict(trial, limits) for trial in made]
    allowed = limits.exceed_ratio * limits.per_load_seconds
    if verdicts.count("good") * limits.trial_seconds >= limits.per_load_seconds - allowed:
        return "good" if _loss_share(made, limits) <= limits.all_loss else "bad"
    passed = {
        "bad": [1 - _loss(trial) for trial in made],
        "unoffered": [trial.offered / trial.intended for trial in made],
    }
    for bad, shares in passed.items():
        mine = [share for share, one in zip(shares, verdicts, strict=True) if one == bad]
        far = sum(share < limits.collapse for share in mine)
        if len(mine) * limits.trial_seconds > allowed or far >= _FAR_OFF:
            return "bad" if bad == "bad" else "unoffered"
    return None


def _loss_share(made: list[LoadTrial], limits: SearchLimits) -> float:
    """Lost share of everything that was offered as requested, without the worst trial: that may
    have met a pause of the machine."""
    counted = [trial for trial in made if _verdict(trial, limits) != "unoffered"]
    counted = sorted(counted, key=_loss)[:-1]
    offered = math.fsum(trial.offered for trial in counted)
    gone = math.fsum(max(0.0, trial.offered - trial.answered) for trial in counted)
    return gone / offered if offered else 0.0


_FAR_OFF = 2
"""Far-off trials that decide a load; a single one may be a pause of the machine."""


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
