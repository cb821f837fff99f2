"""What is asked for of a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from vnicaudit.bench.facts.covariates import Limits
from vnicaudit.bench.judging.terms import Terms, checked
from vnicaudit.bench.paths import GivenPath
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.running.measuring import Task
from vnicaudit.bench.running.opening import Line
from vnicaudit.model.measurement import Design

BEFORE, AFTER = "before", "after"


class TrialOrder(NamedTuple):
    """``peer``: endpoint URL the load comes from. ``undecided``: what is done with a change that
    is neither proven to be better nor worse. ``state``: the folder where measurements are kept."""

    profile: Profile
    peer: str
    line: Line
    seed: int
    limits: Limits
    undecided: Literal["keep", "roll-back"]
    state: Path
    listener: Listener


def guest_path(uri: str, uuid: str, peer: str) -> GivenPath:
    """The way into a guest through its agent."""
    return GivenPath(AFTER, f"agent://{uuid}?connect={quote(uri, safe=':/+@')}", peer)


def trial_task(order: TrialOrder, design: Design) -> Task:
    """What is measured for a trial of that design, and by which terms it is judged.

    One flip is judged once, after as many runs as the profile's first look has: more would make
    the interval hardly narrower, for what boots differ by stays in it.
    """
    profile = order.profile
    once = design == "single-flip"
    terms = Terms(
        looks=profile.looks[:1] if once else profile.looks,
        alphas=(0.05,) if once else profile.alphas,
        design=design,
        on_inconclusive=order.undecided,
        on_equivalent=order.undecided,
        margins=profile.margins,
        catastrophe_only=profile.catastrophe_only,
    )
    return Task(
        profile=profile,
        design=design,
        arms=(BEFORE, AFTER),
        seed=order.seed,
        terms=checked(terms),
        limits=order.limits,
    )
