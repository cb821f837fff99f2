"""Requests on one connection: our generators compared with netperf, over the same path.

    python -m benchmarks.requests [--pairs 20] [--seconds 1] [--request 1 --response 1] [--rt]

Creates a network namespace (needs root) and sends requests over a veth pair into it with netperf's
TCP_RR, our generator in C and our generator in Python, each once per round, in random order.
``--rt``: run all of them at real-time priority (``chrt -r 10``), so that other work on the machine
does not interfere. netperf is searched for on PATH, or in the folder of ``--netperf``.

Prints medians, and the median of the ratios of rounds with its exact 95 % interval. Bar: the
generator in C makes at least 0.95 of netperf's requests.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from contextlib import ExitStack

from benchmarks.bench import _ADDRESS, _SPACE, _interval, namespace
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.endpoints.paths import parse_path
from vnicaudit.bench.profiles.registry import ENGINES
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.opening import LineFacts, OpenedEndpoints
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import Workload

_BAR = 0.95
_GENERATORS = ("netperf", "c", "python")


def run(generator: str, options: argparse.Namespace, opened: OpenedArm) -> Measured:
    """One run, like that of ``bench run``."""
    workload = Workload(
        id=generator,
        engine="rr",
        pattern=f"rr1c-{options.request}x{options.response}",
        direction="both",
        seconds=options.seconds,
        warmup=0.5 if generator != "netperf" else 0,
        decides=("transaction_rate",),
        options={"generator": generator},
    )
    engine = ENGINES.load(workload.engine)
    engine.check(workload)
    found = engine.measure(workload, opened.ends)
    if found.error:
        raise SystemExit(f"{generator}: {found.error}")
    return found


def measure(options: argparse.Namespace) -> dict[str, list[Measured]]:
    """Generator -> its runs, round by round."""
    found: dict[str, list[Measured]] = {name: [] for name in _GENERATORS}
    draw = random.Random(options.seed)
    with ExitStack() as stack:
        path = parse_path(f"netns://{_SPACE}?address={_ADDRESS}")._replace(name="path")
        opened = OpenedEndpoints(stack, adapters).open(path, LineFacts())
        for name in _GENERATORS:  # installed, compiled, warmed up
            run(name, options, opened)
        for _ in range(options.pairs):
            for name in draw.sample(_GENERATORS, len(_GENERATORS)):
                found[name].append(run(name, options, opened))
    return found


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--request", type=int, default=1)
    parser.add_argument("--response", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--rt", action="store_true")
    parser.add_argument("--netperf", metavar="FOLDER")
    options = parser.parse_args()
    if options.netperf:
        os.environ["PATH"] = f"{options.netperf}{os.pathsep}{os.environ['PATH']}"
    if options.rt:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    with namespace(None):
        found = measure(options)
    sys.exit(report(found))


def report(found: dict[str, list[Measured]]) -> int:
    """Print the result; return 1 if the bar is missed."""
    print(f"load {os.getloadavg()[0]:.1f}")
    rates = {name: [one.values["transaction_rate"] for one in each] for name, each in found.items()}
    for name, each in found.items():
        latency = statistics.median(one.values["latency_mean"] for one in each)
        limited = sum(one.generator_limited for one in each)
        print(
            f"  {name}: {statistics.median(rates[name]):.0f} requests/s, mean latency "
            f"{latency:.1f} us, {limited} of {len(each)} generator-limited"
        )
    missed = 0
    for name in ("c", "python"):
        ratios = [one / other for one, other in zip(rates[name], rates["netperf"], strict=True)]
        low, high = _interval(ratios)
        print(
            f"  {name} / netperf, median of {len(ratios)} rounds: "
            f"{statistics.median(ratios):.3f} (95 % {low:.3f} to {high:.3f})"
        )
        missed += name == "c" and statistics.median(ratios) < _BAR
    return missed


if __name__ == "__main__":
    main()
