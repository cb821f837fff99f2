"""By how much more others wanted the CPUs in one arm than in the other.

What a generator waits for a CPU tells little where it takes all there are: it waits as long for
the network's own threads. So those that are ready to run are counted while no generator runs, just
before each run and just after it (``target_others``, ``peer_others`` of the covariates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.facts.pressure import mean_of_known
from vnicaudit.model.measurement import End, Sample

_MUCH = 0.5
"""Threads for each CPU: with so many more, each program gets a third less of a CPU, or still
less."""


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
    ends: tuple[End, ...] = ("target", "peer")
    for end in ends:
        was, now = (_other_threads(runs, end) for runs in (first, second))
        if was is not None and now is not None:
            found.append(Busier(end, was, now))
    return max(found, key=lambda each: each.now - each.was, default=None)


def _other_threads(runs: Sequence[Sample], end: End) -> float | None:
    return mean_of_known(
        [
            each.covariates.target_others if end == "target" else each.covariates.peer_others
            for each in runs
        ]
    )
