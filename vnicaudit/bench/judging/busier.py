"""By how much more others wanted the CPUs in one arm than in the other.

What a generator waits for a CPU tells little where it takes all there are: it waits as long for
the network's own threads. So those that are ready to run are counted while no generator runs, just
before each run and just after it (``target_others``, ``peer_others`` of the covariates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.facts.pressure import mean_of_known
from vnicaudit.bench.judging.effect import is_share
from vnicaudit.bench.metrics import Metric
from vnicaudit.model.measurement import End, Sample

_ENDS: tuple[End, ...] = ("target", "peer")
_MUCH = 0.5
"""Threads for each CPU: with so many more, each program gets a third less of a CPU, or still
less."""

_TWICE = 2.0
"""So much worse with as many threads beside it: something else slows it down."""


class Busier(NamedTuple):
    """Threads that were ready to run, for each CPU of ``end``, in the one arm and in the other, at
    the end where that differs most."""

    end: End
    was: float
    now: float

    @property
    def much(self) -> bool:
        """Enough to slow a generator down."""
        return self.now - self.was >= _MUCH

    def words(self, arm: str) -> str:
        """A sentence on it; ``arm``: the one that ``now`` is of."""
        return (
            f"the CPUs of the {self.end} were busier in {arm}: {self.now:.1f} threads per CPU "
            f"were ready to run while there was no load, and {self.was:.1f} in the other arm"
        )


def busier(first: Sequence[Sample], second: Sequence[Sample]) -> Busier | None:
    """By how much others were busier in the second arm; None where that is not known."""
    found = []
    for end in _ENDS:
        was, now = (_other_threads(runs, end) for runs in (first, second))
        if was is not None and now is not None:
            found.append(Busier(end, was, now))
    return max(found, key=lambda each: each.now - each.was, default=None)


def _other_threads(runs: Sequence[Sample], end: End) -> float | None:
    return mean_of_known([_threads_beside(each, end) for each in runs])


def _threads_beside(run: Sample, end: End) -> float | None:
    return run.covariates.target_others if end == "target" else run.covariates.peer_others


def differs_at_equal_load(
    slowed: Sequence[Sample], other: Sequence[Sample], metric: Metric
) -> bool:
    """True where busier CPUs cannot be the whole difference between two arms: half of the runs of
    ``slowed``, or more, had at both ends no more of these threads beside them than some run of
    ``other``, and each of them was still twice as bad as the worst run of ``other``."""
    if is_share(metric):
        return False
    slow, others = (
        [each for each in runs if metric.name in each.values] for runs in (slowed, other)
    )
    alike = [one for one in slow if any(_is_as_busy(each, one) for each in others)]
    if not alike or 2 * len(alike) < len(slow):
        return False
    bad, good = ([each.values[metric.name] for each in runs] for runs in (alike, others))
    if metric.better == "higher":
        return min(good) >= _TWICE * max(bad)
    return min(bad) >= _TWICE * max(good)


def _is_as_busy(one: Sample, other: Sample) -> bool:
    """True where no fewer threads were beside it at either end; False where that is not known."""
    pairs = [(_threads_beside(one, end), _threads_beside(other, end)) for end in _ENDS]
    known = [(mine, its) for mine, its in pairs if mine is not None or its is not None]
    return bool(known) and all(
        mine is not None and its is not None and mine >= its for mine, its in known
    )
