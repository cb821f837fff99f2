"""Measurements: the workloads, the paths, the results, and the verdict on them.

Times are seconds, rates bit/s or 1/s, latencies microseconds, shares per cent, unless a name says
otherwise. ``None`` is *not measured*, never zero. Directions are the target's: ``tx`` means that it
sends.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Direction = Literal["tx", "rx", "both"]
"""``both``: both directions at once (iperf3 --bidir), or a request and its answer."""

Better = Literal["higher", "lower"]

Verdict = Literal[
    "improved", "equivalent", "not-worse", "regressed", "inconclusive",
    "at-ceiling", "generator-limited", "not-judged", "invalid",
]  # fmt: skip
"""``equivalent``: within the margins in both directions. ``not-worse``: harm beyond the margin is
excluded. ``at-ceiling``: both fill the line, so throughput cannot tell. ``generator-limited``: the
generator was the bottleneck. ``not-judged``: a single flip, of which only numbers are shown.
``invalid``: too few runs that count."""

Design = Literal["single", "paths", "live-flip", "flips", "boots", "single-flip"]
"""The order of the arms. ``single``: one arm, nothing is compared. ``paths``: several paths in
random order. ``live-flip``: a command in the guest switches between arms, in random order.
``flips``, ``boots``: the change is made and undone repeatedly, by hot swap or by power cycles
(then a sample is a boot). ``single-flip``: all before, then all after; drift and boot noise stay
in it."""

End = Literal["target", "peer"]
"""An end of a path."""

InvalidBy = Literal[
    "error", "nothing-measured", "steal", "vcpu-delay", "throttled", "cpu-wait", "cpu-pressure",
    "short", "wrong-path",
]  # fmt: skip
"""Reason why a run does not count. ``error``: it failed, see :data:`Failure`. ``wrong-path``:
another NIC than the one that the result is about carried the payload."""

Failure = Literal["tool", "silent", "lost"]
"""How a run failed. ``tool``: a program is missing, did not start or listen in time, its port is
taken, or its output cannot be read; this says nothing about the network. ``silent``: the tools ran
and nothing got through. ``lost``: an end did not answer."""

OWN_TOOL = "vnicaudit"
"""``tool`` of the measurements made here; those of other tools are shown, and never judged."""

BENCH_SCHEMA: Literal["vnicaudit.bench/1"] = "vnicaudit.bench/1"


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A load that is run repeatedly; a profile is a list of them."""

    id: str
    """``iperf3.tcp.tx.c1.64k``: unique in a profile, and the same for the same work."""
    engine: str
    pattern: str
    """The engine's word for it: ``tcp``, ``udp``, ``max``, ``rr1c-200x1000``."""
    direction: Direction = "tx"
    connections: int = 1
    """Streams, connections or sockets, over all generators."""
    generators: int = 1
    """Number of generator processes on the peer."""
    size: int | None = None
    """Bytes of a message; None: the engine's default."""
    seconds: float = 10.0
    warmup: float = 2.0
    """Seconds at the beginning of a run that do not count."""
    rate: float | None = None
    """Offered load, bit/s (streams) or 1/s (requests, packets); None: as fast as possible."""
    primary: bool = True
    """The verdict depends on it; other workloads are only shown."""
    decides: tuple[str, ...] = ()
    """Metrics that are judged (:mod:`vnicaudit.bench.metrics`), at least one."""
    state: str = ""
    """State of the server during the workload (``querylog``); empty: as it was."""
    options: dict[str, str] = {}
    """Further settings of the engine, such as the query file of dnsperf."""


class Ran(msgspec.Struct, frozen=True):
    """How a program ended. ``code`` None: it was killed, at a timeout or by a signal."""

    command: tuple[str, ...]
    code: int | None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    endpoint: str = ""
    """URL of the endpoint where it ran."""
    cpu_wait: float | None = None
    """For how much of its time its slowest thread was ready to run but had no CPU, in per cent;
    None: unknown, as for programs that ran for less than a second."""


class CpuParts(msgspec.Struct, frozen=True):
    """Parts of the CPU time at one end, in microseconds; None: not visible from there.

    ``group``: of the cgroup in which its programs run (a pod's container). The others are of the
    whole machine: in softirqs, on all CPUs and on the one with most of it, which may be another one
    after a while; of ``ovs-vswitchd`` with all its threads, and of vhost workers.
    """

    group: float | None = None
    softirq: float | None = None
    softirq_of_busiest: float | None = None
    vswitch: float | None = None
    vhost: float | None = None


class CpuUse(msgspec.Struct, frozen=True):
    """CPU time spent during a run, in microseconds; None: not measured.

    ``target``, ``peer``: on that end's machine; ``shared``: on the one machine on which both ends
    are, and which neither can be told from. ``host``: on the hypervisor for this guest (QEMU, its
    vCPUs, and its vhost workers).
    """

    target: float | None = None
    peer: float | None = None
    host: float | None = None
    busy_poll: bool = False
    """The data path polls (DPDK): its CPUs are busy regardless of load, so the cost per Gbit means
    nothing."""
    shared: float | None = None
    target_parts: CpuParts = CpuParts()
    peer_parts: CpuParts = CpuParts()


class NicBytes(msgspec.Struct, frozen=True):
    """Bytes in both directions that a NIC of an end counted during a run, including its warm-up.
    ``named`` (``is_subject`` in code): it is the NIC that the result is about, with the devices
    below it."""

    end: End
    nic: str
    bytes: int
    is_subject: bool = msgspec.field(name="named", default=True)


class Covariates(msgspec.Struct, frozen=True):
    """Covariates: they decide whether a run counts, but never affect its result."""

    target_steal: float | None = None
    """Per cent of the target's CPU time that its hypervisor took (/proc/stat)."""
    peer_steal: float | None = None
    vcpu_delay: float | None = None
    """Per cent of the run that a vCPU waited for a CPU (domstats, ``vcpu.N.delay``)."""
    throttled: float | None = None
    """Per cent of the run that a CPU quota (cgroup) held the target or the peer back."""
    generator_limited: bool = False
    """The generator could not offer the intended load, or was itself the bottleneck."""
    seconds: float | None = None
    """How long the measurement really took."""
    cpu: CpuUse = CpuUse()
    target_wait: float | None = None
    """For how much of its time a thread of the generator at the target was ready to run but had no
    CPU, in per cent; the highest of all threads (/proc/PID/task/TID/schedstat)."""
    peer_wait: float | None = None
    host_wait: float | None = None
    """The same for the vhost workers of the target's guest and for QEMU's main loop, in per cent of
    the run."""
    target_pressure: float | None = None
    """Per cent of the run that threads queued for the CPUs of the target's machine (``some`` of
    /proc/pressure/cpu)."""
    peer_pressure: float | None = None
    payload: float | None = None
    """Bytes that the engine carried during the measurement, at least; None: not reported."""
    nics: tuple[NicBytes, ...] = ()
    """For each end whose counters could be read: the NIC that the result is about, followed by
    those that carried the payload in its place."""


class Witness(msgspec.Struct, frozen=True):
    """A check of a path right after a run; None: unknown. ``answered``: ping from the peer was
    answered; ``detail``: how often, or why the check is inconclusive."""

    answered: bool | None
    detail: str
    arp: bool | None = None
    """From the peer's neighbour table: it has just heard from the NIC that has the address (True),
    or gets no answer about it (False)."""
    connected: bool | None = None
    """A TCP connection of vnicaudit's own, from the peer to a port that it opened at the target,
    carried data both ways (True), or could not be made or carried nothing (False)."""
    counted: bool | None = None
    """The target's NIC counted bytes in both directions during the run (True), or none in one of
    them (False)."""
    echoed: bool | None = None
    """A UDP datagram of vnicaudit's own, from the peer to a port that it opened at the target, came
    back (True), or none of five did (False)."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one workload: one value of each metric."""

    workload: str
    arm: str
    block: int
    """Number of the block it belongs to: a block has each arm once."""
    order: int
    """Position in the whole sequence, from 0."""
    boot: str = ""
    started: str
    values: dict[str, float] = {}
    """Metric -> value, for those that were measured."""
    details: dict[str, str | float | int | bool | None] = {}
    """Further output of the tool: retransmits, RTT, response codes, versions."""
    valid: bool = True
    reason: str = ""
    """Why it does not count."""
    invalid_by: tuple[InvalidBy, ...] = ()
    """Why it does not count, as a code; also empty in files of earlier versions."""
    failure: Failure | None = None
    """How it failed; None: it was measured, or was written by an earlier version that did not
    record it."""
    witness: Witness | None = None
    """The check of the path after a failed run, and after the first run of an arm that counts."""
    covariates: Covariates = Covariates()
    raw: tuple[Ran, ...] = ()
    """All programs that were run for it, with their output."""


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """One path from the peer to the target: an arm of the comparison if several are given.

    ``target`` and ``peer`` are endpoint URLs; ``address``: where the target is reached.
    """

    name: str
    target: str
    peer: str
    address: str
    hypervisor: str | None = None
    """Endpoint URL of the host whose QEMU is the target; None: unknown, or no guest."""
    domain: str | None = None
    """Name or UUID, as in the target's URL."""
    guest: str | None = None
    """The domain's name; None: unknown, or no guest."""
    nic: str | None = None
    """Description of the guest's NIC (``rtl8139``; ``virtio, 4 queues``); None: unknown."""
    mac: str | None = None
    mtu: int | None = None
    line_rate: float | None = None
    """bit/s of the slowest physical link; None: unknown, or there is none (same host)."""
    encapsulation: str = "none"
    same_host: bool | None = None


class Setup(msgspec.Struct, frozen=True):
    """Versions and settings found at one endpoint: name -> value, as the tools print them."""

    endpoint: str
    facts: dict[str, str] = {}
    unknown: dict[str, str] = {}
    """Name -> why it could not be determined."""


class GuardRail(msgspec.Struct, frozen=True):
    """A condition that must hold whatever the throughput: if it is broken, it is a veto."""

    name: str
    arm: str
    verdict: Literal["ok", "failed", "unknown"]
    detail: str = ""


class ArmSummary(msgspec.Struct, frozen=True):
    """The valid samples of one arm. ``low``, ``high``: 95 % interval of the median (exact, by
    order statistics); None: too few samples for one. ``cv``: standard deviation / mean."""

    n: int
    median: float
    low: float | None = None
    high: float | None = None
    cv: float | None = None
    line_rate_percent: float | None = None
    """Per cent of the goodput that the line allows with its MTU and encapsulation."""


class Effect(msgspec.Struct, frozen=True):
    """After against before, in per cent; positive is better, also for metrics whose lower values
    are better. For metrics in per cent (loss) it is in percentage points.

    The estimate is that of Hodges and Lehmann on logarithms; intervals and ``p`` are exact, or use
    the normal distribution for very many samples, as ``test`` says.
    """

    percent: float
    low95: float
    high95: float
    p: float
    p_holm: float
    """Adjusted for the number of comparisons: for a primary one, that of the primary ones; for any
    other, that of all."""
    test: Literal["mann-whitney-exact", "mann-whitney-normal", "turns-t"]
    before: float | None = None
    after: float | None = None
    """The centres that belong to the effect: the medians of all values, as without and as with the
    change. One is ``percent`` of the other, unlike the medians of the arms."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one workload, two arms. ``effect`` None: no estimate is possible."""

    workload: str
    metric: str
    unit: str
    better: Better
    primary: bool
    before_arm: str
    after_arm: str
    before: ArmSummary | None
    after: ArmSummary | None
    effect: Effect | None
    verdict: Verdict
    notes: tuple[str, ...] = ()
    """Further remarks: noise, too few runs."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a measurement."""

    verdict: Verdict
    action: Literal["keep", "roll-back", "none"]
    """The recommended action; ``none``: nothing was changed for this measurement."""
    reasons: tuple[str, ...] = ()
    done: Literal["kept", "rolled-back", "not-rolled-back"] | None = None
    """The action that was taken; None: there was nothing to do, or it is not done yet."""


class BenchRun(msgspec.Struct, frozen=True, kw_only=True):
    """The time, method and rules of the measurement."""

    id: str
    started: str
    finished: str | None = None
    """None: it ended early."""
    tool: str
    version: str
    profile: str
    design: Design
    seed: int
    looks: tuple[int, ...]
    """Numbers of valid samples per arm at which the result is judged."""
    alphas: tuple[float, ...]
    """Error probability spent at each of these."""
    labels: dict[str, str] = {}
    """The user's labels, and those that were determined: ``vcpus``."""
    margins: dict[str, float] = {}
    """Metric -> share by which it has to be better or worse to count, for those that a profile
    sets; the others have default margins."""
    max_steal: float | None = None
    """Per cent of CPU time lost above which a run does not count."""
    max_cpu_wait: float | None = None
    """Per cent of a run that a generator may wait for a CPU; with more it does not count."""
    runs_per_turn: int = 1
    """With ``flips`` and ``boots``: runs of a workload between two changes; their mean is one
    value, and a turn is as many blocks."""


class BenchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The file, ``vnicaudit.bench/1``."""

    schema: Literal["vnicaudit.bench/1"] = BENCH_SCHEMA
    run: BenchRun
    arms: tuple[str, ...]
    """Names of the arms; the others are compared with the first."""
    paths: tuple[Path, ...]
    environment: tuple[Setup, ...] = ()
    workloads: tuple[Workload, ...]
    samples: tuple[Sample, ...] = ()
    guard_rails: tuple[GuardRail, ...] = ()
    results: tuple[Comparison, ...] = ()
    decision: Decision | None = None
    """None: one arm, so there was nothing to decide."""
    notes: tuple[str, ...] = ()
    """Further remarks on the whole measurement, such as other links and offloads that changed
    during it."""
