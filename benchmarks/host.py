"""What a visit to a host costs it, and this machine.

    python -m benchmarks.host [--links 400] [--rounds 5]

Needs root, iproute2 and ethtool. A network namespace with that many links (pairs of veth) is the
host. Measures in turn a bare collector, which prints the same commands and files without limits and
names (the floor), and the script of a visit, both without a window; then what the answer costs
here. Prints medians of CPU time, their ratio run by run, and sizes in bytes.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.reaching.sections import BEGINNING, ENDING, split

_NAME = f"vnicaudit-bench-{os.getpid()}"
_MOST = 8 * 2**20
_BARE = """
ip -j -d -s link
for each in k g l c; do ethtool "-$each" '*'; done 2>/dev/null
grep -s '' /sys/class/net/*/queues/*/* /sys/class/net/*/device/numa_node /proc/stat /proc/softirqs \
    /proc/interrupts /proc/net/softnet_stat /proc/irq/*/*affinity_list \
    /sys/devices/system/cpu/cpu*/topology/thread_siblings_list /proc/sys/net/core/*
for each in /proc/[0-9]*; do read -r name < "$each/comm"; done 2>/dev/null
"""


@contextmanager
def host(links: int) -> Iterator[None]:
    """A namespace with that many links, for as long as the context lasts."""
    subprocess.run(["ip", "netns", "add", _NAME], check=True)
    try:
        pairs = "".join(f"link add v{n} type veth peer name w{n}\n" for n in range(links // 2))
        into = ["ip", "-n", _NAME, "-batch", "-"]
        subprocess.run(into, input=pairs, text=True, check=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", _NAME], check=True)


def run_there(script: str, *arguments: str) -> tuple[str, float]:
    """The output of a script on that host, and the CPU time that it took, in seconds."""
    argv = ["ip", "netns", "exec", _NAME, "sh", "-c", script, "sh", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ran.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(rounds: int) -> None:
    """Measure in turn and print."""
    script = BEGINNING + script_for(EVERY_FACT) + ENDING
    bare, visit, here = [], [], []
    for _ in range(rounds):
        _output, taken = run_there(_BARE)
        bare.append(taken)
        separator = secrets.token_hex(16)
        answer, taken = run_there(script, separator, str(_MOST), "0")
        visit.append(taken)
        start = time.process_time()
        facts = facts_from(SectionReadings(split(answer, separator)), EVERY_FACT)
        here.append(time.process_time() - start)
    ratio = statistics.median(mine / base for mine, base in zip(visit, bare, strict=True))
    print(f"bare collector  {statistics.median(bare):.3f} s of CPU")
    print(f"visit           {statistics.median(visit):.3f} s of CPU, ratio {ratio:.2f}")
    print(f"facts of it     {statistics.median(here):.3f} s of CPU here")
    print(f"links {len(facts.links or ())}, script {len(script)}, answer {len(answer.encode())}")


def main() -> None:
    """Make the host and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with host(asked.links):
        measure(asked.rounds)


if __name__ == "__main__":
    main()
