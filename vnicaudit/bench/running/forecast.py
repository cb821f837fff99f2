"""How many runs a measurement takes at most, and how long; who is told of its progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.profiles.profile import Profile, sample_seconds
from vnicaudit.model.measurement import Sample, Workload

_REPEATED = 1.05
"""Assumed runs for each one that counts, as others are repeated."""
_SWAP, _BOOT = 30.0, 90.0
"""Assumed seconds of a hot swap, and of a power cycle, until the guest can be measured; a single
flip may be either."""
_WITNESS = 3.0
"""Seconds that ping and a connection take after the first run of an arm."""


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

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """A run begins."""

    def sampled(self, sample: Sample) -> None:
        """A run has ended."""

    def says(self, text: str) -> None:
        """Anything else worth knowing."""


class Forecast:
    """Estimated from the profile and the warm-ups at first, then by the pace of the runs so
    far."""

    def __init__(self, profile: Profile, terms: Terms, arms: int) -> None:
        looks = [look * terms.runs_per_turn for look in terms.looks]
        if terms.design in ("single", "single-flip"):
            looks = looks[:1] if terms.design == "single" else looks[-1:]
        count = len(profile.workloads)
        self._runs_at = [look * arms * count for look in looks]
        change = _SWAP if terms.design == "flips" else _BOOT
        runs_of_a_change = {"single-flip": self._runs_at[-1]}
        runs_of_a_change |= dict.fromkeys(TURNS, terms.runs_per_turn * count)
        extra = change / runs_of_a_change[terms.design] if terms.design in runs_of_a_change else 0.0
        self._usual = {
            each.id: sample_seconds(each) + profile.cooldown + extra for each in profile.workloads
        }
        self._arms = arms
        self._slower = 0.0
        self._seen: set[Slot] = set()
        self._elapsed = 0.0

    def warmed_up(self, workload: Workload, elapsed: float) -> None:
        """Learn how long that run took: on a busy machine, tools start slowly."""
        self._slower = max(0.0, elapsed - sample_seconds(workload))

    def ahead(self, samples: Iterable[Sample], slot: Slot) -> Ahead:
        """The forecast when the run in this slot starts, or is repeated."""
        made = {(one.workload, one.arm, one.block) for one in samples}
        number = len(made - {(slot.workload, slot.arm, slot.block)}) + 1
        usual = sum(self._usual[each.workload] for each in self._seen)
        each = sum(self._usual.values()) / len(self._usual)
        extra = 0.0
        if usual and self._elapsed:
            each *= self._elapsed / usual
        else:
            each, extra = (each + self._slower) * _REPEATED, self._arms * _WITNESS
        soonest = next((at for at in self._runs_at if at >= number), self._runs_at[-1])
        most = self._runs_at[-1]
        left = [each * max(0, at - number + 1) + extra for at in (most, soonest)]
        return Ahead(number, most, *left)

    def took(self, slot: Slot, elapsed: float) -> None:
        """Learn that the run in this slot has ended, ``elapsed`` seconds after the start of the
        first."""
        self._seen.add(slot)
        self._elapsed = elapsed
