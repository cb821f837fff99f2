"""The cost of a trial, before it starts: changes of the guest, and time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.order import turns
from vnicaudit.bench.profiles.profile import Profile, estimate
from vnicaudit.bench.trials.request import AFTER, BEFORE
from vnicaudit.model.measurement import Design

_ARMS = (BEFORE, AFTER)
_CHANGE: dict[Design, float] = {"boots": 90.0}
"""Seconds of a change by design: a boot, until the guest's agent answers."""
_PLUG = 15.0
"""Seconds of any other change: unplug, plug, wait for the guest, check again."""
_VISIT = 10.0
"""Seconds of each turn besides its runs: reach both ends, check the guard rails, warm up."""


class TrialCost(NamedTuple):
    """The cost for one NIC. ``turns``, ``changes``, ``seconds``: until the first interim analysis;
    the others: until the end. Changes are plugs, or boots."""

    turns: int
    changes: int
    seconds: float
    most_turns: int
    most_changes: int
    most_seconds: float


def cost(profile: Profile, design: Design, seed: int) -> TrialCost:
    """Return the cost of a trial, without repeats of runs that do not count."""
    if design not in TURNS:
        runs = profile.looks[0] if design == "single-flip" else profile.looks[-1]
        seconds = estimate(profile, len(_ARMS), runs) + _change_seconds(design) + 2 * _VISIT
        return TrialCost(2, 1, seconds, 2, 1, seconds)
    first, last = (
        _of_turns(profile, design, seed, number) for number in (profile.turns[0], profile.turns[-1])
    )
    return TrialCost(*first, *last)


def _of_turns(profile: Profile, design: Design, seed: int, number: int) -> tuple[int, int, float]:
    slots = turns(_ARMS, ("any",), number, seed)
    visits = [arm for (arm, _turn), _slots in groupby(slots, lambda each: (each.arm, each.block))]
    changes = changes_between(visits)
    runs = estimate(profile, len(_ARMS), number * profile.runs_per_turn)
    return len(visits), changes, runs + changes * _change_seconds(design) + len(visits) * _VISIT


def changes_between(visits: Sequence[str]) -> int:
    """Changes that these turns need: one between two arms, two if an arm follows itself, since each
    turn is a plug, or a boot, of its own."""
    return sum(1 if one != other else 2 for one, other in pairwise(visits))


def _change_seconds(design: Design) -> float:
    return _CHANGE.get(design, _PLUG)
