"""Offline audit against a bare parse of the same files.

    python -m benchmarks.files [--files 10000] [--rounds 3]

Makes FILES domain definitions of about 5 KB with two NICs each (models, queues, rings, vCPUs,
names, MACs and UUIDs vary), then measures in turn, each in a process of its own:

* floor: a loop of ``lxml.etree.parse`` over the files;
* audit: ``vnicaudit audit DIR --format json --output /dev/null``.

Prints CPU time (user + system, child processes included) of both, their ratio, wall time, and the
peak resident memory of the audit, summed over its processes.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import NamedTuple

FLOOR = """
import os, sys
from lxml import etree
for entry in os.scandir(sys.argv[1]):
    etree.parse(entry.path)
"""

_DISK = """    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='none' io='native'/>
      <source file='/var/lib/libvirt/images/{name}-{number}.qcow2'/>
      <target dev='vd{letter}' bus='virtio'/>
      <address type='pci' domain='0x0000' bus='0x0{number}' slot='0x00' function='0x0'/>
    </disk>
"""
_NIC = """    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='br{bridge}'/>
      <model type='{model}'/>{driver}
      <address type='pci' domain='0x0000' bus='0x0{bus}' slot='0x00' function='0x0'/>
    </interface>
"""
_CONTROLLER = """    <controller type='pci' index='{n}' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='{n}' port='0x1{n:x}'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x{n:x}'/>
    </controller>
"""


class Figures(NamedTuple):
    """One measured run: CPU seconds, wall seconds, peak resident KiB of the process tree."""

    cpu: float
    wall: float
    peak: int


def definition(number: int, dice: random.Random) -> str:
    """One domain definition, about 5 KB."""
    name = f"vm-{number:06d}"
    nics = "".join(
        _NIC.format(
            mac="52:54:" + bytes([bus, number >> 16, number >> 8 & 255, number & 255]).hex(":"),
            bridge=dice.randrange(4),
            model=(model := dice.choice(["virtio"] * 6 + ["e1000", "rtl8139", "e1000e"])),
            driver=f"\n      <driver name='vhost' queues='{dice.choice([2, 4, 8])}'/>"
            if model == "virtio" and dice.random() < 0.5
            else "",
            bus=bus,
        )
        for bus in (1, 2)
    )
    disks = "".join(_DISK.format(name=name, number=n + 3, letter="abcdefgh"[n]) for n in range(6))
    controllers = "".join(_CONTROLLER.format(n=n) for n in range(1, 9))
    return f"""<domain type='kvm'>
  <name>{name}</name>
  <uuid>{uuid.UUID(int=dice.getrandbits(128))}</uuid>
  <memory unit='KiB'>8388608</memory>
  <vcpu placement='static'>{dice.choice([1, 2, 4, 8, 16])}</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os>
  <features><acpi/><apic/></features>
  <cpu mode='host-passthrough' check='none' migratable='on'/>
  <clock offset='utc'><timer name='rtc' tickpolicy='catchup'/></clock>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
{disks}{controllers}{nics}    <console type='pty'><target type='serial' port='0'/></console>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <memballoon model='virtio'/>
  </devices>
</domain>
"""


def measure(command: list[str]) -> Figures:
    """Run a command to its end and measure it with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    process.wait()
    wall = time.perf_counter() - start
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with exit code {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figures(cpu, wall, peak[0])


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_resident(pid) for pid in _tree(process.pid)))
        time.sleep(0.05)


def _tree(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [pid, *(child for part in text.split() for child in _tree(int(part)))]


def _resident(pid: int) -> int:
    """Resident KiB, pages shared with a parent counted by share (Pss)."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def main() -> None:
    """Make the files, measure in turn, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dice = random.Random(20261121)
        sizes = []
        for number in range(arguments.files):
            text = definition(number, dice)
            sizes.append(len(text))
            Path(folder, f"{number:06d}.xml").write_text(text)
        print(f"{arguments.files} files, {statistics.mean(sizes):.0f} bytes each")
        audit = [sys.executable, "-m", "vnicaudit", "audit", folder, "--format", "json",
                 "--output", "/dev/null"]  # fmt: skip
        ratios = []
        for _ in range(arguments.rounds):
            floor = measure([sys.executable, "-c", FLOOR, folder])
            ours = measure(audit)
            ratios.append(ours.cpu / floor.cpu)
            print(
                f"floor {floor.cpu:.2f} s CPU, {floor.wall:.2f} s | audit {ours.cpu:.2f} s CPU, "
                f"{ours.wall:.2f} s, peak {ours.peak / 1024:.0f} MiB | ratio {ratios[-1]:.2f}"
            )
        print(f"median ratio of CPU time: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
