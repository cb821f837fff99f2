"""What `vnicaudit bench run` costs what it measures: goodput it reports, against bare iperf3.

    python -m benchmarks.bench [--rounds 30] [--seconds 2] [--rate 200mbit]

Makes a network namespace (needs root) and measures one TCP stream into it and out of it, by turns
(which goes first changes each round): a whole run as `bench run` makes it, with all that is read
beside it, and iperf3 alone with the same options. ``--rate``: the path is held to that rate by tc,
where every packet that is lost to overhead would show; without it the CPUs are the limit.

Prints medians, and the median of the ratios of pairs with its exact 95 % interval. Bar:
0.99 or better.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vnicaudit.bench.endpoints.paths import parse_path
from vnicaudit.bench.facts.validity import ValidityLimits
from vnicaudit.bench.judging.statistics import median_interval
from vnicaudit.bench.profiles.registry import ENGINES
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.collector import DesignPlace, take_sample
from vnicaudit.bench.running.opening import LineFacts, OpenedEndpoints
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import Workload

_BAR = 0.99
_SPACE, _HERE, _THERE = "vnab-bench", "vnabb0", "vnabb1"
_ADDRESS = "10.213.77.2"


@contextmanager
def namespace(rate: str | None) -> Iterator[None]:
    """A namespace and a way into it."""
    _ip("netns", "add", _SPACE)
    try:
        _ip("link", "add", _HERE, "type", "veth", "peer", "name", _THERE, "netns", _SPACE)
        _ip("addr", "add", "10.213.77.1/24", "dev", _HERE)
        _ip("link", "set", _HERE, "up")
        _ip("-n", _SPACE, "addr", "add", f"{_ADDRESS}/24", "dev", _THERE)
        _ip("-n", _SPACE, "link", "set", _THERE, "up")
        inside = ("ip", "netns", "exec", _SPACE)
        for prefix, device in (((), _HERE), (inside, _THERE)) if rate else ():
            shape = ["tbf", "rate", str(rate), "burst", "256k", "latency", "50ms"]
            subprocess.run(
                [*prefix, "tc", "qdisc", "add", "dev", device, "root", *shape], check=True
            )
        yield
    finally:
        _ip("netns", "del", _SPACE)


def bare(workload: Workload) -> float:
    """bit/s received, by iperf3 alone."""
    server = ["ip", "netns", "exec", _SPACE, "iperf3", "-s", "--one-off", "-p", "5999"]
    client = ["iperf3", "-c", _ADDRESS, "-p", "5999", "-J", "-t", f"{workload.seconds:g}"]
    client += ["-R"] if workload.direction == "tx" else []
    running = subprocess.Popen(server, stdout=subprocess.DEVNULL)
    try:
        while True:
            ran = subprocess.run(client, capture_output=True, timeout=120, check=False)
            report = json.loads(ran.stdout)
            if "Connection refused" not in report.get("error", ""):
                return float(report["end"]["sum_received"]["bits_per_second"])
    finally:
        running.wait(timeout=30)


def ours(workload: Workload, opened: OpenedArm) -> float:
    """The same as a sample of ``bench run``."""
    everything = ValidityLimits(steal=100, cpu_wait=100, throttled=100)
    sample = take_sample(workload, opened, DesignPlace(0, 0), everything)
    if not sample.valid:
        raise SystemExit(sample.reason)
    return sample.values["goodput"]


def measure(rounds: int, seconds: float) -> dict[str, tuple[list[float], list[float]]]:
    """Direction -> what was reported, and what iperf3 alone said."""
    found: dict[str, tuple[list[float], list[float]]] = {"rx": ([], []), "tx": ([], [])}
    with ExitStack() as stack:
        path = parse_path(f"netns://{_SPACE}?address={_ADDRESS}")._replace(name="path")
        opened = OpenedEndpoints(stack, adapters).open(path, LineFacts())
        for number in range(rounds):
            for direction, (mine, alone) in found.items():
                workload = Workload(
                    id="tcp", engine="iperf3", pattern="tcp", direction=direction,  # type: ignore[arg-type]
                    seconds=seconds, warmup=0, decides=("goodput",),
                )  # fmt: skip
                ENGINES.load(workload.engine).check(workload)
                for which in ("mine", "bare") if number % 2 else ("bare", "mine"):
                    if which == "mine":
                        mine.append(ours(workload, opened))
                    else:
                        alone.append(bare(workload))
    return found


def main() -> None:
    """Measure and print; exit code 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rate")
    given = parser.parse_args()
    with namespace(given.rate):
        found = measure(given.rounds, given.seconds)
    print(f"load {os.getloadavg()[0]:.1f}")
    pairs = [(a, b) for mine, alone in found.values() for a, b in zip(mine, alone, strict=True)]
    for name, (mine, alone) in found.items():
        print(f"  {name}: {_gbit(mine)} reported, {_gbit(alone)} by iperf3 alone")
    ratio = statistics.median(a / b for a, b in pairs)
    interval = _interval([a / b for a, b in pairs])
    print(f"  ratio of pairs, median: {ratio:.4f} (95 % {interval[0]:.4f} to {interval[1]:.4f})")
    if ratio < _BAR:
        raise SystemExit("a bar was missed")


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Exact, of the median."""
    found = median_interval(ratios)
    return (found.low, found.high) if found else (min(ratios), max(ratios))


def _gbit(values: list[float]) -> str:
    return f"{statistics.median(values) / 1e9:.3f} Gb/s"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    main()
