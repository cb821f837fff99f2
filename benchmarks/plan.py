"""Planning a host with 1,000 emulated NICs, compared with bare reading of the definitions.

    python -m benchmarks.plan [--nics 1000] [--rounds 5]

Defines NICS/2 shut-off domains with an e1000 and an rtl8139 each (their operating system is
declared, so that all of them are ready) on its own libvirtd (needs root), then measures in turn:

* floor: open, ``listAllDomains``, ``XMLDesc`` of the persistent definition, close;
* plan: ``vnicaudit plan URI -o plan.json``, including the start of Python, diffs and report.

Prints the ratio, and the seconds against the bar of 5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import libvirt

from tests.cli.command import vnicaudit
from tests.platforms.libvirt.private_daemon import private_daemon

_PREFIX = "vnicaudit-bench-"
_BAR = 5.0
_DOMAIN = """\
<domain type='qemu'>
  <name>{name}</name>
  <metadata>
    <libosinfo:libosinfo xmlns:libosinfo="http://libosinfo.org/xmlns/libvirt/domain/1.0">
      <libosinfo:os id="http://debian.org/debian/12"/>
    </libosinfo:libosinfo>
  </metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type arch='x86_64' machine='{machine}'>hvm</type></os>
  <devices>
    <interface type='network'><source network='default'/><model type='e1000'/></interface>
    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>
"""


@contextmanager
def defined(uri: str, domains: int) -> Iterator[None]:
    """Define domains inside this context; they disappear with their daemon."""
    connection = libvirt.open(uri)
    for number in range(domains):
        name, machine = f"{_PREFIX}{number:04}", ("pc", "q35")[number % 2]
        connection.defineXML(_DOMAIN.format(name=name, vcpus=1 + number % 8, machine=machine))
    connection.close()
    yield


def floor(uri: str) -> int:
    """The minimum for reading every persistent definition."""
    connection = libvirt.openReadOnly(uri)
    flags = libvirt.VIR_DOMAIN_XML_INACTIVE
    texts = [domain.XMLDesc(flags) for domain in connection.listAllDomains()]
    connection.close()
    return len(texts)


def plan(uri: str, path: Path, nics: int) -> None:
    """Run vnicaudit like an operator."""
    result = vnicaudit("plan", uri, "-o", path)
    if result.returncode:
        raise SystemExit(result.stderr)
    steps = len(json.loads(path.read_text())["steps"])
    if steps != nics:
        raise SystemExit(f"{steps} steps for {nics} NICs")


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nics", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    bare, planned = [], []
    with (
        private_daemon() as daemon,
        defined(daemon.uri, given.nics // 2),
        tempfile.TemporaryDirectory() as folder,
    ):
        for _ in range(given.rounds):
            began = time.perf_counter()
            floor(daemon.uri)
            between = time.perf_counter()
            plan(daemon.uri, Path(folder, "plan.json"), given.nics)
            bare.append(between - began)
            planned.append(time.perf_counter() - between)
    seconds = statistics.median(planned)
    ratio = statistics.median(mine / least for mine, least in zip(planned, bare, strict=True))
    print(f"{given.nics} NICs, load {os.getloadavg()[0]:.1f}")
    print(f"  floor {statistics.median(bare):.2f} s, plan {seconds:.2f} s, ratio {ratio:.1f}")
    if seconds > _BAR:
        raise SystemExit(f"bar missed: {seconds:.2f} s > {_BAR:g} s")


if __name__ == "__main__":
    main()
