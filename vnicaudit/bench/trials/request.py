"""The options of a trial."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from vnicaudit.bench.endpoints.paths import PathOption
from vnicaudit.bench.endpoints.turns import Say
from vnicaudit.bench.facts.validity import ValidityLimits
from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.terms import MOST_ALPHA, Terms, alphas_of_turns, checked_terms
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.profiles.registry import SHIPPED, BenchPlugins
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.running.measuring import MeasurementTerms
from vnicaudit.bench.running.opening import LineFacts, OpenedEndpoints, Places
from vnicaudit.bench.running.settling import settled_profile
from vnicaudit.model.measurement import Design
from vnicaudit.remedy.adapters import GetAdapters

BEFORE, AFTER = "before", "after"


def guest_path(uri: str, uuid: str, peer: str) -> PathOption:
    """The path into a guest through its agent."""
    return PathOption(AFTER, f"agent://{uuid}?connect={quote(uri, safe=':/+@')}", peer)


class TrialRequest(NamedTuple):
    """``peer``: endpoint URL of the load's source. ``undecided``: the action for a change that is
    proven neither better nor worse. ``state``: the folder where measurements are stored."""

    profile: Profile
    peer: str
    line: LineFacts
    seed: int
    limits: ValidityLimits
    undecided: Literal["keep", "roll-back"]
    state: Path
    listener: Listener
    adapters: GetAdapters
    restarts: bool = False
    """The change takes a power cycle; else it is swapped while the guest runs."""
    plugins: BenchPlugins = SHIPPED
    opening: Callable[[ExitStack, GetAdapters, int, Say], Places] = OpenedEndpoints
    path_into: Callable[[str, str, str], PathOption] = guest_path
    """The path into a guest, from its host's URI, its UUID and the peer."""

    def places(self, stack: ExitStack, say: Say) -> Places:
        """The ends of the measurement; everything opened there is closed with ``stack``."""
        return self.opening(stack, self.adapters, self.seed, say)

    def settled(self, opened: OpenedArm) -> Profile:
        """The profile, with its open options chosen for a guest."""
        return settled_profile(self.profile, [opened], self.listener, self.plugins)


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
        design=design,
        arms=(BEFORE, AFTER),
        seed=request.seed,
        terms=checked_terms(terms),
        limits=request.limits,
        restarts=request.restarts,
        plugins=request.plugins,
    )
