"""How much more others wanted the CPUs in one arm than in the other.

The time that a generator waits for a CPU tells little if it uses all there are: it waits just as
long for the network's own threads. So threads that are ready to run are counted while no generator
runs, just before and just after each run (``target_others``, ``peer_others`` of the covariates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.facts.pressure import mean_of_known
from vnicaudit.model.measurement import End, Sample

_ENDS: tuple[End, ...] = ("target", "peer")
_MUCH = 0.5
"""Threads per CPU: with that many more, each program gets a third less of a CPU, or even less."""


class Busier(NamedTuple):
    """Threads that were ready to run, per CPU of ``end``, in the first arm (``was``) and the second
    (``now``), at the end with the largest difference."""

    end: End
    was: float
    now: float

    @property
    def much(self) -> bool:
        """True if it is enough to slow a generator down."""
        return self.now - self.was >= _MUCH

    def words(self, arm: str) -> str:
        """A sentence on the difference; ``arm``: the arm of ``now``."""
        return (
            f"the CPUs of the {self.end} were busier in {arm}: {self.now:.1f} threads per CPU "
            f"were ready to run while there was no load, and {self.was:.1f} in the other arm"
        )


def busier(first: Sequence[Sample], second: Sequence[Sample]) -> Busier | None:
    """How much busier others were in the second arm; None if unknown."""
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
