"""What a visit to a host costs it, and this machine.

    python -m benchmarks.host [--links 400] [--rounds 5]
    python -m benchmarks.host --links 10 --hosts 100 [--wait 0.75] [--parallel 32]

Needs root, iproute2 and ethtool. A network namespace with that many links (pairs of veth) is the
host. Measures in turn a bare collector, which prints the same commands and files without limits and
names (the floor), and the script of a visit, both without a window; then what the answer costs
here. Prints medians of CPU time, their ratio run by run, and sizes in bytes.

With ``--hosts`` that many of it are audited by ``audit -i`` over ``ssh://``, where ``ssh`` is a
program that answers after a wait what the host printed once: the network and the host are
simulated, all else is real. The arithmetic minimum is the larger of the waits of as many at once,
one after the other, and the CPU time of auditing them one by one. Bar: 1.3 times that.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.platforms.host.visiting.answered import DEVICES
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
_SSH = """\
#!/bin/sh
for last; do :; done
case $last in *" sh "*) ;; *) exit 0 ;; esac # ssh -O exit
sleep "$WAIT"
set -- ${last##* sh }
exec sed "s/^SEPARATOR /$1 /" "${0%/*}/answer"
"""
_FLEET_BAR = 1.3


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


def measure_many(hosts: int, wait: float, parallel: int) -> bool:
    """Audit that many hosts at once; True if the bar is met."""
    script = BEGINNING + script_for((*EVERY_FACT, DEVICES)) + ENDING
    answer, _taken = run_there(script, "SEPARATOR", str(_MOST), "0")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "answer").write_text(answer, errors="replace")
        (folder / "ssh").write_text(_SSH)
        (folder / "ssh").chmod(0o755)
        # the difference is without the start
        one, some = (audit_many(folder, n, 0.0, 1)[1] for n in (1, 21))
        alone = (some - one) / 20
        wall, taken = audit_many(folder, hosts, wait, parallel)
    waits = -(-hosts // parallel) * wait
    ratio = wall / max(waits, alone * hosts)
    print(
        f"{hosts} hosts  {wall:.1f} s, {taken:.1f} s of CPU; minimum: waits {waits:.1f} s, CPU "
        f"{alone * hosts:.1f} s; ratio {ratio:.2f} (bar {_FLEET_BAR})"
    )
    return ratio <= _FLEET_BAR


def audit_many(folder: Path, hosts: int, wait: float, parallel: int) -> tuple[float, float]:
    """Wall and CPU seconds of ``audit -i``, with those of the programs that it starts."""
    (folder / "uris").write_text("".join(f"ssh://h{n}\n" for n in range(hosts)))
    words = ("audit", "-q", "-i", f"{folder}/uris", "--state", f"{folder}/state{hosts}",
             "-o", f"{folder}/report.json")  # fmt: skip
    environment = {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "WAIT": str(wait),
        "VNICAUDIT_PARALLEL": str(parallel),
    }  # fmt: skip
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "vnicaudit", *words], env=environment,
                             stdout=subprocess.DEVNULL)  # fmt: skip
    _pid, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"audit ended with {child.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def main() -> None:
    """Make the host and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--wait", type=float, default=0.75)
    parser.add_argument("--parallel", type=int, default=32)
    asked = parser.parse_args()
    with host(asked.links):
        if asked.hosts is None:
            measure(asked.rounds)
        elif not measure_many(asked.hosts, asked.wait, asked.parallel):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
