"""Measurements of every kind: what a report has to say of them is in the tests beside this file."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache

from msgspec.structs import replace

from vnicaudit.bench.judging.comparing import summary
from vnicaudit.bench.judging.effect import effect_of, shift_of
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import (
    BenchResult,
    BenchRun,
    Comparison,
    Covariates,
    CpuUse,
    Decision,
    Design,
    GuardRail,
    Path,
    Ran,
    Sample,
    Setup,
    Verdict,
    Workload,
)

NOISE = (0.4, -1.1, 0.9, -0.2, 1.6, -0.7, 0.1, -1.9, 0.6, 1.2, -0.5, 0.8, -1.4, 0.3, -0.9, 1.1,
         -0.3, 0.7, -1.6, 0.2)  # fmt: skip
"""Per cent of a value, run by run: what a quiet host shows."""
START = datetime(2026, 11, 21, 10, 15, tzinfo=timezone.utc)
GOODPUT_10G = 9.415e9

TCP_TX = Workload(
    id="iperf3.tcp.tx.c1.64k", engine="iperf3", pattern="tcp", connections=1, size=65536,
    decides=("goodput",),
)  # fmt: skip
TCP_RX = replace(TCP_TX, id="iperf3.tcp.rx.c1.64k", direction="rx")
DNS = Workload(
    id="dnsperf.max.c20", engine="dnsperf", pattern="max", direction="both", connections=20,
    decides=("query_rate",),
)  # fmt: skip
RR = Workload(
    id="rr.rr1c-200x1000.c10", engine="rr", pattern="rr1c-200x1000", direction="both",
    connections=10, size=200, decides=("transaction_rate", "latency_p99"),
)  # fmt: skip
VM_PATH = Path(
    name="web-01", target="agent://web-01", peer="ssh://root@gen1", address="192.0.2.10",
    hypervisor="ssh://root@kvm3", domain="web-01", mac="52:54:00:1f:01:01", mtu=1500,
    line_rate=1e10, same_host=False,
)  # fmt: skip


def noisy(base: float, n: int, turn: int = 0, strength: float = 1.0) -> list[float]:
    """``n`` values about ``base``."""
    drawn = (NOISE[turn:] + NOISE[:turn])[:n]
    return [round(base * (1 + strength * percent / 100), 6) for percent in drawn]


def run(design: Design, *, profile: str = "quick", **labels: str) -> BenchRun:
    """Its head."""
    return BenchRun(
        id="20261121-101500-3f2a", started="2026-11-21T10:15:00Z", finished="2026-11-21T10:41:30Z",
        tool="vnicaudit", version="1.0", profile=profile, design=design, seed=1234,
        looks=(5, 10, 20), alphas=(0.01, 0.02, 0.02), labels=labels,
    )  # fmt: skip


def samples_of(
    workload: Workload, values: dict[str, dict[str, list[float]]], first: int = 0
) -> Iterator[Sample]:
    """``values``: arm -> metric -> one value per run. A block has each arm once."""
    arms = list(values)
    blocks = max(len(column) for table in values.values() for column in table.values())
    for block in range(blocks):
        for at, arm in enumerate(arms if block % 2 else reversed(arms)):
            order = first + block * len(arms) + at
            yield Sample(
                workload=workload.id, arm=arm, block=block, order=order, boot=f"boot-{block % 3}",
                started=(START + timedelta(seconds=13 * order)).isoformat().replace("+00:00", "Z"),
                values={name: column[block] for name, column in values[arm].items()},
                details={"retransmits": block, "version": "3.12"},
                covariates=Covariates(0.1, 0.0, 0.0, None, False, 10.0,
                                      CpuUse(4.7e6, 5.1e6, 9.9e6)),
                raw=(Ran(("iperf3", "-c", "192.0.2.10", "-J"), 0, '{"end":{}}', "", 12.4,
                         "ssh://root@gen1"),),
            )  # fmt: skip


def compared(
    workload: Workload,
    metric: str,
    values: dict[str, dict[str, list[float]]],
    verdict: Verdict,
    *,
    arms: tuple[str, str],
    line: float | None = None,
    primary: bool = True,
    notes: tuple[str, ...] = (),
    flip: bool = False,
) -> Comparison:
    """The result of one metric, worked out from its values."""
    known = METRICS[metric]
    before, after = (values[arm][metric] for arm in arms)
    shift = None
    if verdict != "not-judged":
        shift = shift_of(known, before, after, "flips" if flip else "live-flip")
    return Comparison(
        workload=workload.id, metric=metric, unit=known.unit, better=known.better, primary=primary,
        before_arm=arms[0], after_arm=arms[1], before=summary(before, line),
        after=summary(after, line), verdict=verdict, notes=notes,
        effect=None if shift is None else effect_of(known, shift, (before, after)),
    )  # fmt: skip


@cache
def two_arms() -> BenchResult:
    """rtl8139, then virtio: better in everything; three runs do not count."""
    n, arms = 10, ("before", "after")
    tx = {
        "before": {"goodput": noisy(248e6, n), "host_cpu_per_gbit": noisy(473_511, n, 3)},
        "after": {"goodput": noisy(7.81e9, n, 5), "host_cpu_per_gbit": noisy(50_320, n, 7)},
    }
    dns = {"before": {"query_rate": noisy(18_000, n)}, "after": {"query_rate": noisy(45_800, n, 4)}}
    rr = {
        "before": {"transaction_rate": noisy(9_100, n), "latency_p99": noisy(1_640, n, 2, 3)},
        "after": {"transaction_rate": noisy(21_700, n, 1), "latency_p99": noisy(610, n, 6, 3)},
    }
    found = [*samples_of(TCP_TX, tx), *samples_of(DNS, dns, 20), *samples_of(RR, rr, 40)]
    broken = replace(
        found[0], order=60, valid=False, reason="target steal 3.1 % of the run, above 2 %",
        values={"goodput": 1.2e8},
    )  # fmt: skip
    limited = replace(found[21], order=62, valid=False, reason="the generator was the limit",
                      values={})  # fmt: skip
    return BenchResult(
        run=run("flips", vcpus="2"),
        arms=arms,
        paths=(VM_PATH,),
        environment=(
            Setup("agent://web-01", {"kernel": "6.1.0-26-amd64", "driver": "virtio_net"},
                  {"qdisc": "tc is not installed (package iproute2)"}),
            Setup("ssh://root@kvm3", {"qemu": "7.2.13", "governor": "performance"}),
        ),
        workloads=(TCP_TX, DNS, RR),
        samples=(*found, broken, replace(broken, order=61), limited),
        guard_rails=(
            GuardRail("reachable", "before", "ok"), GuardRail("reachable", "after", "ok"),
            GuardRail("path MTU", "after", "unknown", "tracepath is not installed"),
        ),
        results=(
            compared(TCP_TX, "goodput", tx, "improved", arms=arms, line=GOODPUT_10G,
                     notes=("two bands in after: 7.67 and 7.90 Gb/s",)),
            compared(TCP_TX, "host_cpu_per_gbit", tx, "improved", arms=arms, primary=False),
            compared(DNS, "query_rate", dns, "improved", arms=arms),
            compared(RR, "transaction_rate", rr, "improved", arms=arms),
            compared(RR, "latency_p99", rr, "improved", arms=arms),
        ),
        decision=Decision(
            verdict="improved", action="keep",
            reasons=("4 of 4 primary comparisons improved", "no guard rail is broken"),
        ),
    )  # fmt: skip


def single_flip() -> BenchResult:
    """Numbers before and after one change, and a guard rail that it broke."""
    arms = ("before", "after")
    values = {"before": {"goodput": noisy(4.1e9, 5)}, "after": {"goodput": noisy(4.31e9, 5, 3)}}
    comparison = compared(
        TCP_TX, "goodput", values, "not-judged", arms=arms, line=GOODPUT_10G,
        notes=("about +4.5 % (minus is worse), not judged",),
    )  # fmt: skip
    return BenchResult(
        run=run("single-flip", profile="smoke"),
        arms=arms, paths=(VM_PATH,), workloads=(TCP_TX,),
        samples=tuple(samples_of(TCP_TX, values)),
        guard_rails=(
            GuardRail("retransmits", "after", "failed", "31 times as many as before"),
        ),
        results=(comparison,),
        decision=Decision(
            verdict="regressed", action="roll-back",
            reasons=("guard rail retransmits is broken",),
        ),
    )  # fmt: skip


APPLIED = Path(
    name="before", target="agent://1d05102d-34ca-4c3b-8f1c-5a1f9d8f2f11?connect=qemu:///system",
    peer="local", address="192.0.2.10", hypervisor="local",
    domain="1d05102d-34ca-4c3b-8f1c-5a1f9d8f2f11", guest="web01", nic="rtl8139",
    mac="52:54:00:1f:01:01", mtu=1500, same_host=True,
)  # fmt: skip


def applied() -> BenchResult:
    """What `apply --bench` kept: the case of the talk, on a guest that is known by its UUID."""
    arms = ("before", "after")
    rx = {"before": {"goodput": noisy(132e6, 7)}, "after": {"goodput": noisy(7.81e9, 7, 3)}}
    dns = {"before": {"query_rate": noisy(18_000, 7)}, "after": {"query_rate": noisy(45_800, 7, 4)}}
    found = [*samples_of(TCP_RX, rx), *samples_of(DNS, dns, 14)]
    return BenchResult(
        run=run("flips", vcpus="2"),
        arms=arms,
        paths=(APPLIED, replace(APPLIED, name="after", nic="virtio")),
        workloads=(TCP_RX, DNS),
        samples=tuple(found),
        guard_rails=(GuardRail("ping", "after", "ok"), GuardRail("path_mtu", "after", "ok")),
        results=(
            compared(TCP_RX, "goodput", rx, "improved", arms=arms, flip=True),
            compared(DNS, "query_rate", dns, "improved", arms=arms, flip=True),
        ),
        decision=Decision(verdict="improved", action="keep", done="kept"),
    )  # fmt: skip


def path(name: str, target: str, address: str) -> Path:
    """Across hosts at 100 Gb/s."""
    return Path(name=name, target=target, peer="ssh://root@node2", address=address, mtu=1500,
                line_rate=1e11, same_host=False)  # fmt: skip


def side_by_side() -> BenchResult:
    """Three paths; pods have a quarter less than nodes."""
    arms = ("node", "vm", "pod")
    one = replace(TCP_TX, id="iperf3.tcp.tx.c1.16k", size=16384)
    many = replace(one, id="iperf3.tcp.tx.c25.16k", connections=25)
    slow = {"node": 31.2e9, "vm": 30.6e9, "pod": 22.1e9}
    fast = {"node": 93.9e9, "vm": 92.7e9, "pod": 68.4e9}
    found: list[Sample] = []
    results: list[Comparison] = []
    for workload, medians in ((one, slow), (many, fast)):
        values = {
            arm: {"goodput": noisy(base, 7, at), "peer_cpu_per_gbit": noisy(9_100 + 900 * at, 7)}
            for at, (arm, base) in enumerate(medians.items())
        }
        found.extend(samples_of(workload, values, len(found)))
        for arm, verdict in (("vm", "equivalent"), ("pod", "regressed")):
            results.append(compared(workload, "goodput", values, verdict,  # type: ignore[arg-type]
                                    arms=("node", arm), line=94.148e9))  # fmt: skip
    return BenchResult(
        run=run("paths", profile="line-100g"),
        arms=arms,
        paths=(path("node", "ssh://root@node1", "198.51.100.1"),
               path("vm", "agent://bench", "198.51.100.20"),
               replace(path("pod", "kubectl://bench", "10.128.4.7"), encapsulation="geneve",
                       mtu=1400)),
        workloads=(one, many), samples=tuple(found), results=tuple(results),
        guard_rails=tuple(GuardRail("reachable", arm, "ok") for arm in arms),
        decision=Decision(verdict="regressed", action="none",
                          reasons=("pod is slower than node in 2 of 2 comparisons",)),
    )  # fmt: skip


def one_arm() -> BenchResult:
    """Nothing is compared."""
    values = {"now": {"goodput": noisy(7.81e9, 5), "host_cpu_per_gbit": noisy(50_320, 5, 7)}}
    return BenchResult(
        run=run("single", profile="smoke"), arms=("now",), paths=(VM_PATH,), workloads=(TCP_TX,),
        samples=tuple(samples_of(TCP_TX, values)),
    )  # fmt: skip


SWITCH = {
    ("emulated", "1"): ((21_000, 21_000), (16_000, 16_000), (10_000, 10_000)),
    ("emulated", "2"): ((18_000, 18_000), (15_000, 15_000), (10_000, 10_000)),
    ("virtio", "1"): ((23_900, 27_000), (16_200, 17_700), (10_700, 11_600)),
    ("virtio", "2"): ((45_800, 48_800), (28_500, 29_500), (19_500, 19_500)),
}
"""Queries per second of the talk: (arm, vCPUs) -> per server option, per number of generators."""


def switch_dns(vcpus: str) -> BenchResult:
    """Two NICs, three server options, one or two generators."""
    states = ("", "querylog", "querylog+dsc")
    workloads, found = [], list[Sample]()
    for at, state in enumerate(states):
        for generators in (1, 2):
            workload = replace(
                DNS, id=f"dnsperf.max.{state or 'plain'}.g{generators}", state=state,
                generators=generators, connections=20 * generators,
            )  # fmt: skip
            workloads.append(workload)
            values = {
                arm: {"query_rate": noisy(SWITCH[arm, vcpus][at][generators - 1], 5)}
                for arm in ("emulated", "virtio")
            }
            found.extend(samples_of(workload, values, len(found)))
    return BenchResult(
        run=run("flips", profile="switch-dns", vcpus=vcpus), arms=("emulated", "virtio"),
        paths=(VM_PATH,), workloads=tuple(workloads), samples=tuple(found),
        decision=Decision(verdict="improved", action="none"),
    )  # fmt: skip


def sweep() -> BenchResult:
    """Message sizes and numbers of connections; latencies of all requests."""
    arms = ("before", "after")
    workloads: list[Workload] = []
    found: list[Sample] = []
    for at, size in enumerate((64, 512, 1448, 16384, 65536)):
        workload = replace(TCP_TX, id=f"iperf3.tcp.tx.c1.{size}", size=size)
        base = min(9.1e9, 3.1e6 * size**0.8)
        values = {
            "before": {"goodput": noisy(base * 0.42, 7, at)},
            "after": {"goodput": noisy(base, 7, at + 3)},
        }
        workloads.append(workload)
        found.extend(samples_of(workload, values, len(found)))
    for at, connections in enumerate((1, 10, 50, 250)):
        workload = replace(RR, id=f"rr.rr1c-200x1000.c{connections}", connections=connections)
        base = 6_000 * connections**0.5
        values = {
            "before": {"transaction_rate": noisy(base, 7, at)},
            "after": {"transaction_rate": noisy(base * 2.1, 7, at + 2)},
        }
        workloads.append(workload)
        found.extend(samples_of(workload, values, len(found)))
    return BenchResult(
        run=run("live-flip", profile="vduse"), arms=arms, paths=(VM_PATH,),
        workloads=tuple(workloads), samples=tuple(found),
    )  # fmt: skip


NASTY = "\x1b[2J<script>alert(1)</script>|`$x^2$` \u202e=cmd()\n]]>&\udcff"


def hostile(text: str = NASTY) -> BenchResult:
    """Text that a file or a guest may hold anywhere."""
    base = two_arms()
    arms = (text, "after" + text)
    names = dict(zip(base.arms, arms, strict=True))
    path = replace(VM_PATH, name=text, target=text, peer=text, address=text)
    return replace(
        base,
        run=replace(base.run, id=text, profile=text, labels={text: text}),
        arms=arms,
        paths=(path,),
        environment=(Setup(text, {text: text}, {text: text}),),
        workloads=tuple(replace(one, id=one.id + text, engine=text, pattern=text, state=text)
                        for one in base.workloads),
        samples=tuple(replace(one, workload=one.workload + text, arm=names[one.arm],
                              reason=one.reason and text, details={text: text}, boot=text,
                              raw=(Ran((text,), None, text, text, 1.0, text),))
                      for one in base.samples),
        guard_rails=(GuardRail(text, text, "failed", text),),
        results=tuple(replace(one, workload=one.workload + text, before_arm=names[one.before_arm],
                              after_arm=names[one.after_arm], notes=(text,))
                      for one in base.results),
        decision=Decision(verdict="improved", action="keep", reasons=(text,)),
    )  # fmt: skip


ALL: Sequence[BenchResult] = (
    two_arms(), single_flip(), side_by_side(), one_arm(), switch_dns("2"), sweep(), hostile(),
    applied(),
)  # fmt: skip
