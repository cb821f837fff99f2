"""Downtime of a real guest: `apply --mode restart` and `--mode hotswap`, each compared with the
same change made with bare libvirt calls.

    python -m benchmarks.guests [--rounds 5]

Boots a guest under emulation (needs root and the rig, tests/rig), queries its DNS server every
10 ms, and takes the longest time without an answer. In turn, on one guest:

* restart: the guest is shut down (through its agent) and started, with an e1000 before and virtio
  after; bare: the same calls without changing the definition;
* hotswap: rtl8139 or e1000 is detached, virtio with the same MAC attached, and address and route
  are restored; bare: the same calls, with one ``ip`` command for each through the agent.

Prints medians, ranges and the median of the ratios. Bars: restart within 10 % of bare, hotswap at
most 1.5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import libvirt

from tests.rig.domain_xml import MAC, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.hypervisor import running_hypervisor
from tests.rig.process import wait_for
from tests.rig.remedy import Remedy

_BAR_RESTART = 1.10
_BAR_HOTSWAP = 1.5


def gap(guest: Guest, work: Callable[[], None]) -> float:
    """Longest time in seconds without an answer while ``work`` runs and until the guest answers
    again."""
    guest.wait_for_dns()
    with guest.dns_probe() as probe:
        work()
        probe.wait_for_answer()
    return probe.longest_gap


def bare_restart(guest: Guest) -> None:
    """Shut down through the agent, wait, and start."""
    guest.domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT)
    guest.wait_until_off()
    guest.domain.create()


def bare_hotswap(guest: Guest) -> None:
    """Detach, attach virtio, and restore the address, with only the necessary calls."""
    live = _interface(guest)
    address, gateway = guest.addresses(MAC)[0], _gateway(guest)
    new = f"""<interface type='bridge'><mac address='{MAC}'/>
        <source bridge='{guest.definition.bridge}'/><model type='virtio'/></interface>"""
    flags = libvirt.VIR_DOMAIN_AFFECT_LIVE
    guest.domain.detachDeviceFlags(live, flags)
    wait_for(lambda: _interface(guest) == "", "the NIC is gone", seconds=30)
    guest.domain.attachDeviceFlags(new, flags)
    wait_for(lambda: guest.device(MAC), "the guest has the NIC", seconds=30)
    name = guest.device(MAC)
    for words in (
        ["link", "set", name, "up"],
        ["addr", "add", address, "dev", name],
        ["route", "add", "default", "via", gateway],
    ):
        guest.run(["ip", *map(str, words)]).output()


def measure(rounds: int) -> dict[str, list[float]]:
    """Longest times without an answer by name of the method; the methods take turns."""
    found: dict[str, list[float]] = {
        name: [] for name in ("restart", "bare restart", "hotswap", "bare hotswap")
    }
    with running_hypervisor() as hypervisor, tempfile.TemporaryDirectory() as folder:
        factory = GuestFactory(hypervisor, "x86_64", "pc")
        for number in range(rounds):
            remedy = Remedy(Path(folder, str(number)))
            remedy.folder.mkdir()
            with factory(Nic("e1000", mac=MAC)) as guest:
                plan = remedy.plan(guest)
                done = partial(_done, remedy, guest, plan, "--mode", "restart")
                found["restart"].append(gap(guest, done))
                found["bare restart"].append(gap(guest, partial(_restarted, guest)))
            with factory(Nic("rtl8139", mac=MAC)) as guest:
                plan = remedy.plan(guest)
                done = partial(_done, remedy, guest, plan, "--mode", "hotswap")
                found["hotswap"].append(gap(guest, done))
                remedy.rollback(str(remedy.last()["run"]))
                found["bare hotswap"].append(gap(guest, partial(bare_hotswap, guest)))
    return found


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    found = measure(parser.parse_args().rounds)
    print(f"load {os.getloadavg()[0]:.1f}")
    for name, gaps in found.items():
        middle = statistics.median(gaps)
        print(f"  {name:13} {middle:5.2f} s ({min(gaps):.2f}-{max(gaps):.2f})")
    pairs = zip(found["restart"], found["bare restart"], strict=True)
    ratio = statistics.median(mine / bare for mine, bare in pairs)
    print(f"  restart against bare: {ratio:.2f}")
    if ratio > _BAR_RESTART or statistics.median(found["hotswap"]) > _BAR_HOTSWAP:
        raise SystemExit("a bar was missed")


def _done(remedy: Remedy, guest: Guest, plan: Path, *options: str) -> None:
    remedy.apply(plan, *options)
    guest.wait_for_dns()


def _restarted(guest: Guest) -> None:
    bare_restart(guest)
    guest.wait_until_up()
    guest.wait_for_dns()


def _interface(guest: Guest) -> str:
    found = ElementTree.fromstring(guest.xml()).find("devices/interface")
    return "" if found is None else ElementTree.tostring(found, encoding="unicode")


def _gateway(guest: Guest) -> str:
    routes = json.loads(guest.run(["ip", "-j", "route", "show", "default"]).output())
    return str(routes[0]["gateway"])


if __name__ == "__main__":
    main()
