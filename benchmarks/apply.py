"""Applying a plan for the next boot, compared with a loop that defines the same domains.

    python -m benchmarks.apply [--domains 100] [--rounds 3]

Defines DOMAINS shut-off domains with an e1000 each on its own libvirtd (needs root) and plans all
of them. Then it measures in turn, each in a process of its own:

* floor: read each persistent definition with its passwords, replace the model, and define it with
  ``VIR_DOMAIN_DEFINE_VALIDATE``, one domain after the other;
* apply: ``vnicaudit apply PLAN --yes``, one domain after the other, including the start of Python,
  journal, saved definitions and the check of what libvirt made of them.

Prints wall seconds, and CPU seconds of the program and its libvirtd together, which depend little
on other work on the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import libvirt

from tests.cli.command import vnicaudit
from tests.platforms.libvirt.private_daemon import PrivateDaemon, private_daemon

_PREFIX = "vnicaudit-bench-"
_BAR = 2.0
_DOMAIN = """\
<domain type='qemu'>
  <name>{name}</name>
  <metadata>
    <libosinfo:libosinfo xmlns:libosinfo="http://libosinfo.org/xmlns/libvirt/domain/1.0">
      <libosinfo:os id="http://debian.org/debian/12"/>
    </libosinfo:libosinfo>
  </metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='bridge'><source bridge='br0'/><model type='e1000'/></interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>
"""


class Spent(NamedTuple):
    """Seconds of one round: wall, CPU of the program, CPU of libvirtd."""

    wall: float
    program: float
    daemon: float

    @property
    def cpu(self) -> float:
        """CPU seconds of program and daemon together."""
        return self.program + self.daemon


@contextmanager
def defined(uri: str, domains: int) -> Iterator[None]:
    """Define domains inside this context; they disappear with their daemon."""
    connection = libvirt.open(uri)
    for number in range(domains):
        connection.defineXML(_DOMAIN.format(name=f"{_PREFIX}{number:04}"))
    connection.close()
    yield


def redefine(uri: str, old: str, new: str) -> None:
    """Change the model of all domains with the minimum of libvirt calls."""
    connection = libvirt.open(uri)
    flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE
    for domain in connection.listAllDomains():
        text = domain.XMLDesc(flags).replace(f"<model type='{old}'/>", f"<model type='{new}'/>")
        connection.defineXMLFlags(text, libvirt.VIR_DOMAIN_DEFINE_VALIDATE)
    connection.close()


def measured(daemon: PrivateDaemon, job: Callable[[], None]) -> Spent:
    """Times of a job that runs in processes of its own."""
    wall, mine, its = time.perf_counter(), _children(), _daemon(daemon)
    job()
    return Spent(time.perf_counter() - wall, _children() - mine, _daemon(daemon) - its)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _daemon(daemon: PrivateDaemon) -> float:
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bare(uri: str, old: str, new: str) -> None:
    """Run ``redefine`` in a process of its own."""
    words = ["-m", "benchmarks.apply", "--floor", uri, old, new]
    subprocess.run([sys.executable, *words], check=True)


def command(*words: str | Path) -> None:
    """Run vnicaudit like an operator."""
    result = vnicaudit(*words, timeout=3600)
    if result.returncode:
        raise SystemExit(result.stderr + result.stdout)


def show(name: str, rounds: list[Spent], floor: list[Spent]) -> float:
    """Print medians and the ratio of CPU seconds; return the ratio."""
    wall, program, daemon = (statistics.median(values) for values in zip(*rounds, strict=True))
    pairs = list(zip(rounds, floor, strict=True))
    ratio = statistics.median(mine.cpu / least.cpu for mine, least in pairs)
    walls = statistics.median(mine.wall / least.wall for mine, least in pairs)
    print(
        f"  {name}: wall {wall:.2f} s ({walls:.2f}), CPU {program:.2f} s + libvirtd {daemon:.2f} s"
        f" ({ratio:.2f})"
    )
    return ratio


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--floor", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    if given.floor:
        redefine(*given.floor)
        return
    floor, applied = [], []
    with (
        private_daemon() as daemon,
        defined(daemon.uri, given.domains),
        tempfile.TemporaryDirectory() as folder,
    ):
        plan, state = Path(folder, "plan.json"), Path(folder, "state")
        command("plan", daemon.uri, "-o", plan)
        trust = ("--yes", "--quiet", "--state", state, "--trust-uri", daemon.uri)
        for _ in range(given.rounds):
            floor.append(measured(daemon, lambda: bare(daemon.uri, "e1000", "virtio")))
            bare(daemon.uri, "virtio", "e1000")
            applied.append(
                measured(daemon, lambda: command("apply", plan, *trust, "--mode", "next-boot"))
            )
            bare(daemon.uri, "virtio", "e1000")
    print(f"{given.domains} domains, load {os.getloadavg()[0]:.1f}")
    show("floor", floor, floor)
    ratio = show("apply", applied, floor)
    if ratio > _BAR:
        raise SystemExit(f"bar missed: {ratio:.2f} > {_BAR:g}")


if __name__ == "__main__":
    main()
