"""A profile ready for measuring, and how long it takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.bench.engines import load_engine
from vnicaudit.bench.judging.terms import usual_turns
from vnicaudit.bench.line_rate import Encapsulation
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import COOLDOWN, MAX_CPU_WAIT, MAX_STEAL, RUNS_PER_TURN
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Design, Workload


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The workloads to run, the number of runs, and the criteria. Checked: every engine accepts its
    workloads. Times in seconds, and per cent of time."""

    name: str
    """The name of a shipped profile, or the file's."""
    title: str
    description: str = ""
    sources: tuple[str, ...] = ()
    workloads: tuple[Workload, ...]
    looks: tuple[int, ...]
    """Valid samples per arm and workload at each interim analysis; ends with the final one."""
    alphas: tuple[float, ...]
    """The error probability spent at each, in the same order."""
    runs_per_turn: int = RUNS_PER_TURN
    """Runs of each workload in a turn."""
    catastrophe_only: bool = False
    """Too few runs for statistics: only a catastrophe or a broken guard rail decides."""
    designs: tuple[Design, ...] = ()
    """The designs that suit it, the best first; empty: any."""
    guards: tuple[str, ...] | None = None
    """Names of guard rails; None: all."""
    cooldown: float = COOLDOWN
    max_steal: float = MAX_STEAL
    """Per cent: steal, waiting vCPUs and CPU quotas above it make a run invalid."""
    max_cpu_wait: float = MAX_CPU_WAIT
    """Per cent of a run that generators, vhost workers and QEMU may wait for a CPU."""
    line_rate: float | None = None
    """bit/s of the slowest physical link of the path; None: unknown."""
    encapsulation: Encapsulation = "none"
    margins: dict[str, float] = {}
    """Metric -> margin as a share, instead of its own."""
    states: dict[str, str] = {}
    """Name -> meaning of each state of the server in which a workload is run."""

    @property
    def comparisons(self) -> int:
        """Number of primary comparisons of two arms."""
        return primary_comparisons(self.workloads)

    @property
    def turns(self) -> tuple[int, ...]:
        """Turns of each arm at each interim analysis, if the change is made and undone in turns."""
        return usual_turns(self.comparisons)

    def margin(self, metric: str) -> float:
        """The share by which a metric must be better or worse to count."""
        return self.margins.get(metric, METRICS[metric].margin)


def primary_comparisons(workloads: Sequence[Workload]) -> int:
    """Number of metrics of these workloads on which a verdict rests."""
    return sum(len(each.decides) for each in workloads if each.primary)


SEARCHES = frozenset({"capacity", "udp-pps"})
"""Patterns that, without a rate, search for the highest; each search is one sample."""

SEARCH = 40.0
"""Seconds of a search: trials of 1 s, up to 7 for each load, some ten loads, most of which are
decided earlier."""

SETUP = 1.5
"""Seconds to start both programs, connect, and read the counters of both ends."""


def estimate(profile: Profile, arms: int, repeats: int | None = None) -> float:
    """Estimated seconds for that many arms with ``repeats`` samples each; by default the number at
    the final analysis. Without repeats of runs that do not count, boots and flips."""
    samples = arms * (profile.looks[-1] if repeats is None else repeats)
    return samples * sum(
        sample_seconds(workload) + profile.cooldown for workload in profile.workloads
    )


def sample_seconds(workload: Workload) -> float:
    """Estimated seconds of one sample."""
    if workload.pattern in SEARCHES and workload.rate is None:
        return SETUP + SEARCH
    return SETUP + workload.warmup + workload.seconds


_SETTING = re.compile(r"([\w-]+)\.([\w-]+)=(.*)", re.DOTALL)


class EngineSetting(NamedTuple):
    """An option of an engine; an empty ``value`` removes the profile's setting."""

    engine: str
    option: str
    value: str


def setting(text: str) -> EngineSetting:
    """The setting in ``dnsperf.name=www.example.org A``. Raises UsageError for invalid text."""
    match = _SETTING.fullmatch(text)
    if match is None:
        raise UsageError(f"{shortened(text)!r}: expected ENGINE.OPTION=VALUE")
    return EngineSetting(*match.groups())


def with_options(profile: Profile, settings: Sequence[EngineSetting]) -> Profile:
    """Return the profile with these options. Raises UsageError if an engine does not accept
    them."""
    engines = sorted({workload.engine for workload in profile.workloads})
    for each in settings:
        if each.engine not in engines:
            hint = close_to(each.engine, engines) or f"; its engines are {', '.join(engines)}"
            raise UsageError(f"profile {profile.name} does not use engine {each.engine!r}{hint}")
    return _checked(profile, (_changed(workload, settings) for workload in profile.workloads))


def with_seconds(profile: Profile, seconds: float) -> Profile:
    """Return the profile with runs of that length. Raises UsageError if an engine does not accept
    it."""
    return _checked(profile, (replace(each, seconds=seconds) for each in profile.workloads))


def _checked(profile: Profile, changed: Iterable[Workload]) -> Profile:
    workloads = tuple(changed)
    for workload in workloads:
        load_engine(workload.engine).check(workload)
    return replace(profile, workloads=workloads)


def _changed(workload: Workload, settings: Sequence[EngineSetting]) -> Workload:
    own = {each.option: each.value for each in settings if each.engine == workload.engine}
    options = {name: value for name, value in {**workload.options, **own}.items() if value}
    return replace(workload, options=options)
