"""Reading a live libvirt, compared with a bare loop over the same domains.

    python -m benchmarks.live [--domains 300] [--rounds 15] [--uri qemu:///system]

Defines DOMAINS shut-off domains (named vnicaudit-bench-…, two NICs each, about 2 KB as libvirt
writes them; removed at the end), then measures in turn, in one process:

* floor: open, ``listAllDomains``, ``XMLDesc`` in a loop, close;
* read: vnicaudit's whole reading (state, networks, versions, records);
* audit: the same, plus every rule on every NIC.

On a machine with other work, ``chrt -r 10 python -m benchmarks.live`` keeps that out of the
figures: a round trip over the local socket is mostly waiting to be scheduled.

Then it repeats this through a proxy with a round-trip time of 20 ms. Without ``--uri`` it starts
its own libvirtd (needs root); with it, the second part is left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import libvirt

from benchmarks import delay_proxy
from tests.platforms.libvirt.private_daemon import private_daemon, tcp_uri
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.libvirt.live import read

_PREFIX = "vnicaudit-bench-"
_DOMAIN = """\
<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='network'><source network='default'/><model type='virtio'/></interface>
    <interface type='bridge'><source bridge='br0'/><model type='{model}'/></interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>
"""
_MODELS = ("virtio", "e1000", "rtl8139", "virtio", "e1000e")
_BAR_LOCAL = 1.1
_BAR_REMOTE = 1.0
"""Seconds for all domains with a round trip of 20 ms."""


@contextmanager
def defined(uri: str, count: int) -> Iterator[None]:
    """Define ``count`` domains inside this context."""
    connection = libvirt.open(uri)
    try:
        for number in range(count):
            model = _MODELS[number % len(_MODELS)]
            name = f"{_PREFIX}{number:04}"
            connection.defineXML(_DOMAIN.format(name=name, vcpus=1 + number % 8, model=model))
        yield
    finally:
        for domain in connection.listAllDomains():
            if domain.name().startswith(_PREFIX):
                domain.undefine()
        connection.close()


def floor(uri: str) -> int:
    """The minimum for reading every definition."""
    connection = libvirt.openReadOnly(uri)
    texts = [domain.XMLDesc() for domain in connection.listAllDomains()]
    connection.close()
    return len(texts)


def read_all(uri: str) -> int:
    """Read everything that vnicaudit reads."""
    return sum(isinstance(item, Domain) for item in read(uri).domains)


def audit_all(uri: str) -> int:
    """Read everything, and run every rule."""
    live = read(uri)
    engine = DomainAuditor(rule_ids(), every_platform())
    done = 0
    for item in live.domains:
        if isinstance(item, Domain):
            engine.audit_domain(item, live.host.declared, uri)
            done += 1
    return done


def measure(
    uri: str, rounds: int, count: int, *jobs: Callable[[str], int]
) -> dict[str, list[tuple[float, float]]]:
    """(wall, CPU) in seconds per round for each job; the jobs take turns."""
    taken: dict[str, list[tuple[float, float]]] = {job.__name__: [] for job in jobs}
    for _ in range(rounds):
        for job in jobs:
            wall, cpu = time.perf_counter(), time.process_time()
            found = job(uri)
            spent = time.perf_counter() - wall, time.process_time() - cpu
            if found < count:
                raise SystemExit(f"{job.__name__} saw {found} of {count} domains")
            taken[job.__name__].append(spent)
    return taken


def show(taken: dict[str, list[tuple[float, float]]], base: str) -> dict[str, float]:
    """Print medians and the ratio of wall time to that of ``base``, round by round; return the
    ratios."""
    ratios = {}
    for name, spent in taken.items():
        pairs = zip(spent, taken[base], strict=True)
        ratios[name] = statistics.median(mine[0] / floor_[0] for mine, floor_ in pairs)
        wall, cpu = (statistics.median(column) for column in zip(*spent, strict=True))
        best = min(wall for wall, _cpu in spent)
        print(
            f"  {name:10} wall {wall * 1e3:7.1f} ms (best {best * 1e3:6.1f}), "
            f"CPU {cpu * 1e3:6.1f} ms, ratio {ratios[name]:.2f}"
        )
    return ratios


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--uri", help="measure this host, defining domains on it")
    given = parser.parse_args()
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    with ExitStack() as stack:
        daemon = None if given.uri else stack.enter_context(private_daemon())
        uri = given.uri or (daemon.uri if daemon else "")
        stack.enter_context(defined(uri, given.domains))
        print(f"{given.domains} domains, local socket, load {os.getloadavg()[0]:.1f}")
        jobs = (floor, read_all, audit_all)
        local = show(measure(uri, given.rounds, given.domains, *jobs), "floor")
        missed = local["read_all"] > _BAR_LOCAL
        if daemon is not None:
            port, _proxy = stack.enter_context(delay_proxy.running(f"127.0.0.1:{daemon.port}"))
            print(f"{given.domains} domains, round trip 20 ms, load {os.getloadavg()[0]:.1f}")
            far = measure(tcp_uri(port), 5, given.domains, read_all, audit_all)
            show(far, "read_all")
            wall = statistics.median(wall for wall, _cpu in far["read_all"])
            missed = missed or wall >= _BAR_REMOTE
    print(f"bars (ratio {_BAR_LOCAL}, {_BAR_REMOTE} s): {'missed' if missed else 'held'}")
    raise SystemExit(int(missed))


if __name__ == "__main__":
    main()
