"""How long a profile takes."""

from __future__ import annotations

from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.model.measurement import Workload

SEARCHES = frozenset({"capacity", "udp-pps"})
"""Patterns that, without a rate, search for the highest; each search is one sample."""

SEARCH = 40.0
"""Seconds of a search: trials of 1 s, up to 7 for each load, some ten loads, most of which are
decided before."""

SETUP = 1.5
"""Seconds to start both programs, connect, and read the counters of both ends."""


def estimate(profile: Profile, arms: int, repeats: int | None = None) -> float:
    """Seconds for so many arms, ``repeats`` samples each; as many as at the last look where that
    is not said. Without runs that do not count and are repeated, boots and flips."""
    samples = arms * (profile.looks[-1] if repeats is None else repeats)
    return samples * sum(one(workload) + profile.cooldown for workload in profile.workloads)


def one(workload: Workload) -> float:
    """Seconds of one sample."""
    if workload.pattern in SEARCHES and workload.rate is None:
        return SETUP + SEARCH
    return SETUP + workload.warmup + workload.seconds
