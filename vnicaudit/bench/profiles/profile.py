"""A profile, as it is measured by, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vnicaudit.bench.judging.terms import usual_turns
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import (
    COOLDOWN,
    MAX_CPU_WAIT,
    MAX_STEAL,
    RUNS_PER_TURN,
)
from vnicaudit.model.measurement import Design, Workload


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads to run, how often, and how they are judged. Checked: every engine takes its
    workloads. Seconds, and per cent of time."""

    name: str
    """Of a shipped one, or the file's."""
    title: str
    description: str = ""
    sources: tuple[str, ...] = ()
    workloads: tuple[Workload, ...]
    looks: tuple[int, ...]
    """Valid samples per arm and workload at which it is judged; ends with the last."""
    alphas: tuple[float, ...]
    """As many: the error probability spent at each."""
    turns: tuple[int, ...] = usual_turns(1)
    """Turns of each arm at which it is judged, where the change is made and undone in turns."""
    own_turns: bool = False
    """The profile says so; else they follow from its comparisons, and from what the host's earlier
    measurements say."""
    runs_per_turn: int = RUNS_PER_TURN
    """Runs of each workload in a turn."""
    catastrophe_only: bool = False
    """Too few runs for statistics: only a catastrophe or a broken guard rail decides."""
    designs: tuple[Design, ...] = ()
    """The ones that suit it, the best first; empty: any."""
    guards: tuple[str, ...] | None = None
    """Names of guard rails; None: all there are."""
    cooldown: float = COOLDOWN
    max_steal: float = MAX_STEAL
    """Per cent: steal, waiting vCPUs and CPU quotas above it make a run invalid."""
    max_cpu_wait: float = MAX_CPU_WAIT
    """Per cent of a run that generators, vhost workers and QEMU may wait for a CPU."""
    margins: dict[str, float] = {}
    """Metric -> margin as a share, instead of its own."""
    vcpus: tuple[int, ...] = ()
    """Numbers of vCPUs it is to be run with, one measurement each; empty: as found."""
    states: dict[str, str] = {}
    """Name -> meaning of each state of the server that a workload is run in."""

    @property
    def comparisons(self) -> int:
        """How many primary comparisons there are of two arms."""
        return primary_comparisons(self.workloads)

    def margin(self, metric: str) -> float:
        """The share by which a metric has to be better or worse to count."""
        return self.margins.get(metric, METRICS[metric].margin)


def primary_comparisons(workloads: Sequence[Workload]) -> int:
    """How many metrics of these workloads a verdict rests on."""
    return sum(len(each.decides) for each in workloads if each.primary)


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
    return samples * sum(
        sample_seconds(workload) + profile.cooldown for workload in profile.workloads
    )


def sample_seconds(workload: Workload) -> float:
    """Seconds of one sample."""
    if workload.pattern in SEARCHES and workload.rate is None:
        return SETUP + SEARCH
    return SETUP + workload.warmup + workload.seconds
