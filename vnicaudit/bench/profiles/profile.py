"""A profile, as it is measured by."""

from __future__ import annotations

import msgspec

from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import COOLDOWN, MAX_STEAL
from vnicaudit.model.measurement import Design, Workload


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, how often, and what is judged by it. Checked: every engine takes its workloads.
    Seconds, and per cent of time."""

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
    catastrophe_only: bool = False
    """Too few runs for statistics: only a catastrophe or a broken guard rail decides."""
    designs: tuple[Design, ...] = ()
    """The ones that suit it, the best first; empty: any."""
    guards: tuple[str, ...] | None = None
    """Names of guard rails; None: all there are."""
    cooldown: float = COOLDOWN
    max_steal: float = MAX_STEAL
    """Per cent: steal, waiting vCPUs and CPU quotas above it make a run invalid."""
    margins: dict[str, float] = {}
    """Metric -> margin as a share, in the place of its own."""
    vcpus: tuple[int, ...] = ()
    """Numbers of vCPUs it is to be run with, one measurement each; empty: as found."""
    states: dict[str, str] = {}
    """Name -> meaning of each state of the server that a workload is run in."""

    def margin(self, metric: str) -> float:
        """The share by which a metric has to be better or worse to count."""
        return self.margins.get(metric, METRICS[metric].margin)
