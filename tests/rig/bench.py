"""Measuring on the rig's guests: profiles short enough for it, and the same tools by hand."""

import json
import math
import random
import re
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

from tests.adapters import open_endpoint
from tests.rig.guests import Guest
from tests.rig.process import require, wait_for
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import load_engine
from vnicaudit.bench.judging.effect import RankShift
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.profiles.profile import with_seconds
from vnicaudit.model.measurement import Workload

# Emulated vCPUs always wait for one of two cores: their waiting tells nothing here.
HEAD = """\
title = "For the rig"
repeats = 5
cooldown = 0
max-steal = 100
max-cpu-wait = 100
"""

# What is to be found no different must not be found so by chance.
STRICT = HEAD.replace("repeats = 5", "repeats = 6\nmargins = { goodput = 30 }")

# For a factor of a hundred. Four would decide, but some may have a busier machine than any of the
# other arm, and those decide nothing.
SHORT = HEAD.replace("repeats = 5", "repeats = 6") + "guards = []\n"

# One change: only a catastrophe is looked for.
SINGLE = 'designs = ["single-flip"]\n' + SHORT

# Nor has a turn of it to have more than one run.
ONE_RUN = HEAD.replace("repeats = 5", "runs-per-turn = 1")

FEW = HEAD.replace("repeats = 5", "repeats = 2\ncatastrophe-only = true")

TCP = """
[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["rx", "tx"]
seconds = 1
warmup = 0
"""

DNS = """
[[workload]]
engine = "dnsperf"
patterns = ["max"]
seconds = 1
warmup = 0
connections = [4]
options = { name = "answer.rig.test A" }
decides = ["query_rate"]
"""

RX = TCP.replace('"rx", "tx"', '"rx"')

REQUESTS = """
[[workload]]
engine = "rr"
patterns = ["rr1c-200x1000", "rr1c-200x30k"]
connections = [4]
seconds = 1
warmup = 0
"""


def profile(folder: Path, *parts: str, head: str = HEAD) -> str:
    """A profile of these parts, in a file."""
    path = folder / "rig.toml"
    path.write_text(head + "".join(parts))
    return str(path)


_OF_A_BUSY_MACHINE = {"steal", "vcpu-delay", "cpu-wait", "cpu-pressure", "short"}


def counted(result: dict[str, Any]) -> bool:
    """Whether there are runs that count of each workload in each arm, and the others are those that
    a busy machine began too late, or cut short: these are repeated."""
    every = {(one["workload"], one["arm"]) for one in result["samples"]}
    reasons = {each for one in result["samples"] for each in one["invalid_by"]}
    return reasons <= _OF_A_BUSY_MACHINE and every == {
        (one["workload"], one["arm"]) for one in result["samples"] if one["valid"]
    }


def medians(result: dict[str, Any], arm: str) -> dict[tuple[str, str], float]:
    """(workload, metric) -> median of the runs that count."""
    values: dict[tuple[str, str], list[float]] = {}
    for sample in result["samples"]:
        if sample["arm"] == arm and sample["valid"]:
            for metric, value in sample["values"].items():
                values.setdefault((sample["workload"], metric), []).append(value)
    return {key: sorted(found)[len(found) // 2] for key, found in values.items()}


def verdicts(result: dict[str, Any]) -> dict[tuple[str, str], str]:
    """(workload, metric) -> verdict, of what decides."""
    return {
        (one["workload"], one["metric"]): one["verdict"]
        for one in result["results"]
        if one["primary"]
    }


def tcp_by_hand(guest: Guest, *, seconds: int, from_guest: bool) -> float:
    """bit/s received, by iperf3 alone."""
    require("iperf3")
    guest.run(["iperf3", "--server", "--daemon", "--one-off", "--idle-timeout", "60"]).output()
    client = ["iperf3", "--json", "--client", guest.address, "--time", str(seconds), "-l", "64K"]
    if from_guest:
        client.append("--reverse")
    report = wait_for(lambda: _report(client, seconds), "iperf3 listens")
    return float(report["end"]["sum_received"]["bits_per_second"])


def dns_by_hand(guest: Guest, folder: Path, *, seconds: int) -> float:
    """Queries per second, by dnsperf alone."""
    require("dnsperf")
    queries = folder / "queries"
    queries.write_text("answer.rig.test A\n")
    argv = ["dnsperf", "-s", guest.address, "-d", str(queries), "-l", str(seconds), "-c", "4"]
    ran = _run([*argv, "-t", "1"], seconds)
    ran.check_returncode()
    (rate,) = re.findall(r"Queries per second: +([0-9.]+)", ran.stdout)
    return float(rate)


def _report(client: list[str], seconds: int) -> dict[str, Any] | None:
    ran = _run(client, seconds)
    report: dict[str, Any] = json.loads(ran.stdout)
    return None if "Connection refused" in report.get("error", "") else report


def _run(argv: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
    """In a session of its own, as the engines' are: Linux shares cores out by session (sched(7),
    autogroup), and the tests' own may hold more than this."""
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 60,
        start_new_session=True,
    )


class Interleaved:
    """The same work by vnicaudit's engines and by the tools alone, in turns."""

    def __init__(self, guest: Guest, folder: Path, *, seconds: int) -> None:
        self._guest = guest
        self._folder = folder
        self._seconds = seconds
        path = profile(folder, RX, DNS)
        self._workloads = with_seconds(load_profile(path), seconds).workloads

    def differing(self, looks: Sequence[int]) -> dict[str, tuple[list[float], list[float]]]:
        """Workload -> what the engine measured and what the tool did, where they do not agree.

        Looked at after so many rounds each; the first look at which all agree is the last: on two
        cores a few runs are now and then unlike by chance, and go on to be unlike only where the
        engine changes what it measures. The order is drawn: what disturbs every so many seconds
        would else meet the same one of the two each time."""
        ours: dict[str, list[float]] = {one.id: [] for one in self._workloads}
        bare: dict[str, list[float]] = {one.id: [] for one in self._workloads}
        with ExitStack() as stack:
            target = stack.enter_context(closing(open_endpoint(f"agent://{self._guest.name}")))
            peer = stack.enter_context(closing(open_endpoint("local")))
            ends = Ends(target, peer, self._guest.address)
            for number in range(1, looks[-1] + 1):
                for workload in self._workloads:
                    both = list(self._both(workload, ends, ours, bare))
                    random.shuffle(both)
                    for measure in both:
                        measure()
                if number in looks and not (found := _unlike(ours, bare)):
                    break
        return found

    def _both(
        self, workload: Workload, ends: Ends, ours: dict[str, list[float]],
        bare: dict[str, list[float]],
    ) -> tuple[Callable[[], None], Callable[[], None]]:  # fmt: skip
        def engine() -> None:
            measured = load_engine(workload.engine).measure(workload, ends)
            assert not measured.error, measured
            ours[workload.id].append(measured.values[workload.decides[0]])

        def tool() -> None:
            if workload.engine == "iperf3":
                out = workload.direction == "tx"
                value = tcp_by_hand(self._guest, seconds=self._seconds, from_guest=out)
            else:
                value = dns_by_hand(self._guest, self._folder, seconds=self._seconds)
            bare[workload.id].append(value)

        return engine, tool


def _unlike(
    ours: dict[str, list[float]], bare: dict[str, list[float]]
) -> dict[str, tuple[list[float], list[float]]]:
    return {key: (ours[key], bare[key]) for key in ours if not agree(ours[key], bare[key])}


def agree(ours: list[float], bare: list[float]) -> bool:
    """Medians within 3 %, or no difference within the exact interval. That is at 99.9 %: six such
    comparisons are made, and one in twenty must not fail by chance."""
    if abs(median(ours) / median(bare) - 1) <= 0.03:
        return True
    logs = [[math.log(value) for value in values] for values in (ours, bare)]
    interval = RankShift(*logs).interval(0.001)
    return interval is not None and interval.low <= 0 <= interval.high
