"""Results of `bench` runs compared with the bare tools, and the overhead of a run in seconds.

    python -m benchmarks.bench [--pairs 15] [--seconds 2] [--rate 500mbit | --free] [WORK ...]

Creates a network namespace (needs root) and loads the path into and out of it with pairs in random
order: a whole run as in `bench run`, with everything that is read during it, and the tool alone
with the same options. WORK: ``rx`` and ``tx`` (a TCP stream each way), ``streams`` (four at once),
``udp`` (a fifth more than the path carries), ``dns`` (dnsperf and nsd). Default: all of them.

tc limits the path to ``--rate`` (for ``dns`` to a 250th of it), so that every packet lost to
overhead shows. With ``--free`` there is no such limit, and the CPUs are the bottleneck.

Prints medians, the median of the ratios of pairs with its exact 95 % interval, and the seconds that
a run takes longer than the tool alone. Bars: 0.97 to 1.03 (with ``--free`` at least 0.97), 1.5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import tests.rig
from tests.rig.dns import answers
from vnicaudit.bench.endpoints.opening import parse_path
from vnicaudit.bench.engines import load_engine
from vnicaudit.bench.facts.covariates import ValidityLimits
from vnicaudit.bench.judging.statistics import median_interval
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.running.collector import take_sample
from vnicaudit.bench.running.opening import SHIPPED, OpenedArm, OpenedEndpoints
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import Workload

_LEAST, _MOST, _OVERHEAD = 0.97, 1.03, 1.5
_SPACE, _HERE, _THERE = "vnab-bench", "vnabb0", "vnabb1"
_ADDRESS = "10.213.77.2"
_INSIDE = ("ip", "netns", "exec", _SPACE)
_SHARE_OF_DNS = 250
"""Divisor of the path's rate for DNS: low enough that the path, not the CPUs, limits dnsperf."""
_UDP_BEYOND = 1.2
_FREE_UDP = 200e6
_BUFFER = "425984"
"""Twice Linux' default net.core.rmem_max, which is what the engine requests."""
_NAME = "answer.rig.test"
_ZONE = Path(tests.rig.__file__).parent / "files" / "rig.test.zone"
_NSD = """\
server:
    ip-address: {address}
    username: ""
    zonesdir: "{folder}"
    database: ""
    pidfile: "{folder}/nsd.pid"
    xfrdfile: "{folder}/xfrd.state"
    zonelistfile: "{folder}/zone.list"
    xfrdir: "{folder}"
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
remote-control:
    control-enable: no
zone:
    name: rig.test
    zonefile: "{zone}"
"""
Pairs = list[tuple[float, float]]
"""Values of our run and of the tool alone."""


class Compared(NamedTuple):
    """``values``: as reported, in the metric's unit. ``seconds``: wall time."""

    values: Pairs
    seconds: Pairs


@contextmanager
def namespace(rate: str | None, burst: str = "256k") -> Iterator[None]:
    """A network namespace and a path into it."""
    _ip("netns", "add", _SPACE)
    try:
        _ip("link", "add", _HERE, "type", "veth", "peer", "name", _THERE, "netns", _SPACE)
        _ip("addr", "add", "10.213.77.1/24", "dev", _HERE)
        _ip("link", "set", _HERE, "up")
        _ip("-n", _SPACE, "addr", "add", f"{_ADDRESS}/24", "dev", _THERE)
        _ip("-n", _SPACE, "link", "set", _THERE, "up")
        for prefix, device in (((), _HERE), (_INSIDE, _THERE)) if rate else ():
            shape = ["tbf", "rate", str(rate), "burst", burst, "latency", "50ms"]
            subprocess.run(
                [*prefix, "tc", "qdisc", "add", "dev", device, "root", *shape], check=True
            )
        yield
    finally:
        _ip("netns", "del", _SPACE)


@contextmanager
def dns_server() -> Iterator[None]:
    """nsd in the namespace, ready to answer."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nsd.conf")
        file.write_text(_NSD.format(address=_ADDRESS, folder=folder, zone=_ZONE))
        running = subprocess.Popen([*_INSIDE, "nsd", "-d", "-c", str(file)])
        try:
            while not answers(_ADDRESS):
                if running.poll() is not None:
                    raise SystemExit("nsd does not run")
            yield
        finally:
            running.terminate()
            running.wait()


def iperf3_alone(*options: str) -> float:
    """bit/s received, measured by iperf3 alone."""
    server = [*_INSIDE, "iperf3", "-s", "--one-off", "-p", "5999"]
    client = ["iperf3", "-c", _ADDRESS, "-p", "5999", "-J", *options]
    running = subprocess.Popen(server, stdout=subprocess.DEVNULL)
    try:
        while True:
            ran = subprocess.run(client, capture_output=True, timeout=120, check=False)
            report = json.loads(ran.stdout)
            if "Connection refused" not in report.get("error", ""):
                return float(report["end"]["sum_received"]["bits_per_second"])
    finally:
        running.wait(timeout=30)


def dnsperf_alone(seconds: float) -> float:
    """Queries answered per second, measured by dnsperf alone."""
    with tempfile.NamedTemporaryFile("w") as queries:
        queries.write(f"{_NAME} A\n")
        queries.flush()
        argv = ["dnsperf", "-s", _ADDRESS, "-d", queries.name, "-l", f"{seconds:g}", "-c", "4"]
        ran = subprocess.run(
            [*argv, "-t", "1"], capture_output=True, text=True, timeout=120, check=True
        )
    (rate,) = re.findall(r"Queries per second: +([0-9.]+)", ran.stdout)
    return float(rate)


def ours(workload: Workload, opened: OpenedArm) -> float:
    """The same, measured as a sample of ``bench run``."""
    everything = ValidityLimits(steal=100, cpu_wait=100, throttled=100)
    sample = take_sample(workload, opened, Slot(0, 0, "", workload.id), everything, SHIPPED)
    if not sample.valid:
        raise SystemExit(sample.reason)
    return sample.values[workload.decides[0]]


class Work(NamedTuple):
    """A workload, and a function that runs it with the tool alone."""

    workload: Workload
    alone: Callable[[], float]


def work_of(name: str, seconds: float, rate: float | None) -> Work:
    """The work of that name. ``rate``: bit/s of the path; None: not limited."""
    given = ("-t", f"{seconds:g}")
    if name == "dns":
        options = {"name": f"{_NAME} A"}
        return Work(
            Workload(id=name, engine="dnsperf", pattern="max", direction="both", connections=4,
                     seconds=seconds, warmup=0, decides=("query_rate",), options=options),
            lambda: dnsperf_alone(seconds),
        )  # fmt: skip
    if name == "udp":
        sent = _UDP_BEYOND * rate if rate else _FREE_UDP
        return Work(
            Workload(id=name, engine="iperf3", pattern="udp", direction="rx", rate=sent,
                     seconds=seconds, warmup=0, decides=("goodput",)),
            lambda: iperf3_alone(*given, "-u", "-b", str(int(sent)), "-w", _BUFFER),
        )  # fmt: skip
    streams = 4 if name == "streams" else 1
    more = ("-P", "4") if name == "streams" else ("-R",) if name == "tx" else ()
    return Work(
        Workload(id=name, engine="iperf3", pattern="tcp", direction="tx" if name == "tx" else "rx",
                 connections=streams, seconds=seconds, warmup=0, decides=("goodput",)),
        lambda: iperf3_alone(*given, *more),
    )  # fmt: skip


WORKS = ("rx", "tx", "streams", "udp", "dns")


def measure(work: Work, pairs: int, draw: random.Random) -> Compared:
    """Measure both ways ``pairs`` times, each pair in random order."""
    found = Compared([], [])
    load_engine(work.workload.engine).check(work.workload)
    with ExitStack() as stack:
        if work.workload.engine == "dnsperf":
            stack.enter_context(dns_server())
        path = parse_path(f"netns://{_SPACE}?address={_ADDRESS}")._replace(name="path")
        opened = OpenedEndpoints(stack, adapters, say=_say).open(path, load_profile("smoke"))
        ways: list[Callable[[], float]] = [lambda: ours(work.workload, opened), work.alone]
        for way in ways:  # warm up
            way()
        for _ in range(pairs):
            value, took = [0.0, 0.0], [0.0, 0.0]
            for which in draw.sample((0, 1), 2):
                began = time.monotonic()
                value[which] = ways[which]()
                took[which] = time.monotonic() - began
            found.values.append((value[0], value[1]))
            found.seconds.append((took[0], took[1]))
    return found


def report(name: str, found: Compared, *, held: bool) -> bool:
    """Print the result; return False if a bar is missed."""
    ratios = [mine / alone for mine, alone in found.values]
    ratio, (low, high) = statistics.median(ratios), _interval(ratios)
    beyond = statistics.median(mine - alone for mine, alone in found.seconds)
    mine, alone = (statistics.median(each) for each in zip(*found.values, strict=True))
    print(
        f"  {name:8}{_shown(mine)} reported, {_shown(alone)} by the tool alone; ratio of "
        f"{len(ratios)} pairs, median {ratio:.4f} (95 % {low:.4f} to {high:.4f}); "
        f"{beyond:+.2f} s a run",
        flush=True,
    )
    return ratio >= _LEAST and (ratio <= _MOST or not held) and beyond <= _OVERHEAD


def main() -> None:
    """Measure and print; exit code 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=20261126)
    path = parser.add_mutually_exclusive_group()
    path.add_argument("--rate", default="500mbit", metavar="NUMBERmbit")
    path.add_argument("--free", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.work) - set(WORKS):
        parser.error(f"no WORK is called {', '.join(sorted(unknown))}: there are {WORKS}")
    rate = None if given.free else float(given.rate.removesuffix("mbit")) * 1e6
    draw = random.Random(given.seed)
    print(f"load {os.getloadavg()[0]:.1f}, path {'free' if given.free else given.rate}")
    good = [one(name, given, rate, draw) for name in given.work or WORKS]
    print(f"load {os.getloadavg()[0]:.1f}")
    if not all(good):
        raise SystemExit("a bar was missed")


def one(name: str, given: argparse.Namespace, rate: float | None, draw: random.Random) -> bool:
    """Measure one work over a path of its own; return False if a bar is missed."""
    dns = name == "dns"
    held = None if rate is None else f"{rate / (_SHARE_OF_DNS if dns else 1):.0f}bit"
    with namespace(held, "8k" if dns else "256k"):
        found = measure(work_of(name, given.seconds, rate), given.pairs, draw)
    return report(name, found, held=rate is not None)


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Exact 95 % interval of the median."""
    found = median_interval(ratios)
    return (found.low, found.high) if found else (min(ratios), max(ratios))


def _shown(value: float) -> str:
    return f"{value / 1e6:.1f} Mb/s" if value > 1e6 else f"{value:.0f}/s"


def _say(text: str) -> None:
    """Print a message, mainly that another measurement is being waited for."""
    print(text, file=sys.stderr, flush=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    main()
