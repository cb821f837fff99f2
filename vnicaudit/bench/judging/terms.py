"""The terms of a comparison, fixed before its first run: looking until it fits would find something
in anything.

Measured at n = 5, 10 and 20 with an error probability of 0.01, 0.02 and 0.02, two equal NICs are
called different in under 5 % of all comparisons; testing after each run from 5 to 20 on does so in
16 % (docs/explanation/measuring.md).

The number of runs that would decide a comparison which the present runs did not.

Planned by the usual formula for two samples of equal size: a test at ``alpha`` finds a difference
``d`` with a probability of ``power`` from this number of runs in each arm:

    n = 2 · (z(1 - alpha/2) + z(power))² · s² / d²

``s`` is the standard deviation of one arm; on logarithms, since effects are ratios. A test by ranks
needs 1/0.955 of that if the noise is normal (Hodges and Lehmann, "The efficiency of some
nonparametric competitors of the t-test", Annals of Mathematical Statistics 27, 1956), and less if
it is not. The spread is estimated from a few runs, so the answer is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import msgspec

from vnicaudit.bench.judging.effect import FEW_TURNS, TURNS
from vnicaudit.bench.judging.statistics import smallest_p
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Design

Otherwise = Literal["keep", "roll-back"]
"""The action for a change with no clear benefit or harm."""

MOST_RUNS = 100
"""The most runs of an arm that a measurement may have."""
MOST_ALPHA = 0.05
"""With more false alarms than this, a verdict is worthless."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """``looks``: numbers of runs per arm at which an interim analysis is made; ``alphas``: the
    error probability that each spends. ``on_inconclusive``: the action if it cannot be decided;
    ``on_equivalent``: the action if nothing got worse and nothing better."""

    looks: tuple[int, ...] = (5, 10, 20)
    alphas: tuple[float, ...] = (0.01, 0.02, 0.02)
    design: Design = "live-flip"
    runs_per_turn: int = 1
    """With flips and boots: runs of a workload between two changes; their mean is one value."""
    on_inconclusive: Otherwise = "roll-back"
    on_equivalent: Otherwise = "roll-back"
    margins: dict[str, float] = {}
    """Metric -> share by which it must be worse or better to count, instead of its own."""
    catastrophe_only: bool = False
    """Too few runs for statistics: only a catastrophe or a broken guard rail decides."""
    acts: bool = True
    """A change was made for the measurement, which can be kept or undone."""

    def alpha(self, runs: int) -> float:
        """Error probability spent at the interim analysis that this number of runs belongs to: the
        first one that is not smaller, so that an early end spends what the next one would have
        spent."""
        for look, alpha in zip(self.looks, self.alphas, strict=True):
            if runs <= look:
                return alpha
        return self.alphas[-1]

    def too_few(self, before: int, after: int) -> bool:
        """True if fewer runs count than the first interim analysis was to have, and with these
        nothing could ever be decided. A design with so few runs on purpose (a smoke test) does not
        have too few."""
        fewest = min(before, after)
        if not fewest or fewest >= self.looks[0]:
            return not fewest
        if self.design == "single-flip":
            return False
        if self.design in TURNS:
            return fewest < 2
        return smallest_p(before, after) > self.alpha(fewest)


DEFAULT = Terms()


_ROOM = 2
"""If one arm is much noisier than the other, all its turns lie on one side of the other's several
times as often as chance has it with equal ones: usual turns tell a difference from chance at a part
of the error probability."""
_TURN_ALPHAS = (0.005, 0.005, 0.04)


def alphas_of_turns(looks: tuple[int, ...]) -> tuple[float, ...]:
    """Error probability spent at each of these numbers of turns: little at the first two of three,
    which decide only what is clear without statistics."""
    if len(looks) == len(_TURN_ALPHAS):
        return _TURN_ALPHAS
    return (MOST_ALPHA / len(looks),) * len(looks)


_FIRST_TURNS = (2, 3)
_FEWEST_BY_RANKS = FEW_TURNS + 1


def usual_turns(comparisons: int) -> tuple[int, ...]:
    """Numbers of turns of each arm at which that many primary comparisons are judged: after the
    last, ranks can tell a difference from chance among them, with room to spare."""
    plans = ((*_FIRST_TURNS, last) for last in range(_FEWEST_BY_RANKS, MOST_RUNS + 1))
    return next(turns for turns in plans if turns_decide(turns, _ROOM * comparisons))


def turns_decide(turns: tuple[int, ...], comparisons: int) -> bool:
    """True if after the last of these numbers of turns a difference can be told from chance, among
    that many primary comparisons. Few turns are judged without ranks, which can always show a large
    one."""
    last, alpha = turns[-1], alphas_of_turns(turns)[-1]
    return last <= FEW_TURNS or comparisons * smallest_p(last, last) <= alpha


def fewest_runs(alpha: float, comparisons: int) -> int:
    """Runs of each arm with which a difference can be told from chance at all, among that many
    primary comparisons."""
    among = max(1, comparisons)
    return next(n for n in range(2, MOST_RUNS) if among * smallest_p(n, n) <= alpha)


def checked_terms(terms: Terms) -> Terms:
    """Return the terms. Raises UsageError if looks and alphas do not fit each other, or a margin is
    invalid."""
    looks, alphas = terms.looks, terms.alphas
    if not looks or len(looks) != len(alphas):
        raise UsageError("there must be as many alphas as looks, and at least one")
    if list(looks) != sorted(set(looks)) or looks[0] < 1 or looks[-1] > MOST_RUNS:
        raise UsageError(f"looks must increase, from at least 1 to at most {MOST_RUNS}: {looks}")
    if not all(0 < alpha < 1 for alpha in alphas) or math.fsum(alphas) > MOST_ALPHA + 1e-12:
        raise UsageError(f"alphas must be above 0 and add up to at most {MOST_ALPHA}: {alphas}")
    for metric, margin in terms.margins.items():
        if not 0 <= margin < math.inf:
            raise UsageError(f"the margin of {metric} must be 0 or more: {margin}")
    return terms


_EFFICIENCY = 3 / math.pi
"""Efficiency of ranks compared with the mean, for normal noise."""
_POWER = 0.8


def spread_of(*arms: Sequence[float], logarithms: bool = True) -> float | None:
    """The standard deviation within the arms, pooled; of logarithms unless the values are shares.
    None if it is unknown: too few values, or one without a logarithm."""
    if logarithms:
        if any(value <= 0 for arm in arms for value in arm):
            return None
        arms = tuple([math.log(value) for value in arm] for arm in arms)
    freedom = sum(len(arm) - 1 for arm in arms if arm)
    if freedom < 2:
        return None
    squares = math.fsum((value - math.fsum(arm) / len(arm)) ** 2 for arm in arms for value in arm)
    return math.sqrt(squares / freedom)


def runs_to_show(difference: float, spread: float, *, alpha: float = 0.05) -> int | None:
    """Runs in each arm that show a ``difference`` in four of five measurements; both are on the
    scale of the spread. None: more than :data:`MOST_RUNS`."""
    room = (difference / _reach(alpha)) ** 2
    for runs in range(fewest_runs(alpha, 1), MOST_RUNS + 1):
        if 2 * spread**2 / (runs * _EFFICIENCY) <= room:
            return runs
    return None


def _reach(alpha: float) -> float:
    """Standard errors by which a difference must differ from 0."""
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(_POWER)
