"""The options of a trial, and its cost before it starts: changes of the guest, and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.endpoints.turns import Say
from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.stopping import turns
from vnicaudit.bench.judging.terms import MOST_ALPHA, Terms, alphas_of_turns, checked_terms
from vnicaudit.bench.profiles.profile import Profile, estimate
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.forecast import Listener
from vnicaudit.bench.running.opening import (
    SHIPPED,
    BenchPlugins,
    OpenedArm,
    OpenedEndpoints,
    prepare_engines,
)
from vnicaudit.model.measurement import Design
from vnicaudit.remedy.hypervisor import GetAdapters

BEFORE, AFTER = "before", "after"


def guest_path(uri: str, uuid: str, peer: str) -> PathOption:
    """The path into a guest through its agent."""
    return PathOption(AFTER, f"agent://{uuid}?connect={quote(uri, safe=':/+@')}", peer)


class TrialRequest(NamedTuple):
    """``peer``: endpoint URL of the load's source. ``undecided``: the action for a change that is
    proven neither better nor worse. ``state``: the folder where measurements are stored."""

    profile: Profile
    peer: str
    seed: int
    undecided: Literal["keep", "roll-back"]
    state: Path
    listener: Listener
    adapters: GetAdapters
    restarts: bool = False
    """The change takes a power cycle; else it is swapped while the guest runs."""
    plugins: BenchPlugins = SHIPPED
    opening: Callable[[ExitStack, GetAdapters, int, Say], OpenedEndpoints] = OpenedEndpoints
    path_into: Callable[[str, str, str], PathOption] = guest_path
    """The path into a guest, from its host's URI, its UUID and the peer."""

    def places(self, stack: ExitStack, say: Say) -> OpenedEndpoints:
        """The ends of the measurement; everything opened there is closed with ``stack``."""
        return self.opening(stack, self.adapters, self.seed, say)

    def prepare(self, opened: OpenedArm) -> None:
        """Bring what the workloads need to both ends."""
        prepare_engines(self.profile, [opened], self.listener, self.plugins)


def trial_terms(request: TrialRequest, design: Design) -> MeasurementTerms:
    """The measurement for a trial of that design, with its terms.

    A single flip is judged once, after as many runs as at the profile's first interim analysis:
    more would hardly make the interval narrower, as the difference between boots stays in it. If
    the change is made and undone in turns, the profile's turns apply.
    """
    profile = request.profile
    looks, alphas = profile.looks, profile.alphas
    if design == "single-flip":
        looks, alphas = looks[:1], (MOST_ALPHA,)
    elif design in TURNS:
        looks, alphas = profile.turns, alphas_of_turns(profile.turns)
    terms = Terms(
        looks=looks,
        alphas=alphas,
        design=design,
        runs_per_turn=profile.runs_per_turn if design in TURNS else 1,
        on_inconclusive=request.undecided,
        on_equivalent=request.undecided,
        margins=profile.margins,
        catastrophe_only=profile.catastrophe_only,
    )
    return MeasurementTerms(
        profile=profile,
        arms=(BEFORE, AFTER),
        seed=request.seed,
        terms=checked_terms(terms),
        plugins=request.plugins,
    )


_ARMS = (BEFORE, AFTER)
_BOOT = 90.0
"""Seconds of a boot, until the guest's agent answers."""
_PLUG = 15.0
"""Seconds of any other change: unplug, plug, wait for the guest, check again."""
_VISIT = 10.0
"""Seconds of each turn besides its runs: reach both ends, check the guard rails, warm up."""


class TrialCost(NamedTuple):
    """The cost for one NIC until an interim analysis. Changes are plugs, or boots."""

    turns: int
    changes: int
    seconds: float


def cost(profile: Profile, design: Design, seed: int) -> tuple[TrialCost, TrialCost]:
    """The cost of a trial until the first interim analysis, and until the last; without repeats of
    runs that do not count."""
    change = _BOOT if design == "boots" else _PLUG
    if design not in TURNS:
        runs = profile.looks[0] if design == "single-flip" else profile.looks[-1]
        once = TrialCost(2, 1, estimate(profile, len(_ARMS), runs) + change + 2 * _VISIT)
        return once, once

    def until(number: int) -> TrialCost:
        slots = turns(_ARMS, ("any",), number, seed)
        visits = [arm for (arm, _), _ in groupby(slots, lambda each: (each.arm, each.block))]
        changes = changes_between(visits)
        runs = estimate(profile, len(_ARMS), number * profile.runs_per_turn)
        return TrialCost(len(visits), changes, runs + changes * change + len(visits) * _VISIT)

    return until(profile.turns[0]), until(profile.turns[-1])


def changes_between(visits: Sequence[str]) -> int:
    """Changes that these turns need: one between two arms, two if an arm follows itself, since each
    turn is a plug, or a boot, of its own."""
    return sum(1 if one != other else 2 for one, other in pairwise(visits))
