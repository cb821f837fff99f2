"""Offline audit compared with bare parsing of the same files.

    python -m benchmarks.files [--files 10000] [--rounds 3] [--jobs 2]

Creates FILES domain definitions of about 5 KB with two NICs each (models, queues, rings, vCPUs,
names, MACs and UUIDs vary), then measures in turn, each in separate processes:

* floor: a loop of ``lxml.etree.parse`` over the files, in one process, and in JOBS processes that
  share the files;
* audit: ``vnicaudit audit DIR --format json --output /dev/null``, with one worker and with JOBS.

Prints CPU time (user + system, including child processes), wall time, the peak resident memory of
the audits, summed over their processes, and ratios of CPU time for the same number of processes,
because two processes on two threads of one core slow each other down, whatever they do.
"""

from __future__ import annotations

import argparse
import os
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
from itertools import islice
from lxml import etree
first, step = int(sys.argv[2]), int(sys.argv[3])
for entry in islice(os.scandir(sys.argv[1]), first, None, step):
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


def measure(*commands: list[str]) -> Figures:
    """Run commands in parallel to their end, and measure them with all their children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(processes[0], peak))
    watcher.start()
    codes = [process.wait() for process in processes]
    wall = time.perf_counter() - start
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not set(codes) <= {0, 1}:
        raise SystemExit(f"{commands} ended with exit codes {codes}")
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
    """Resident KiB; pages shared with a parent are counted by share (Pss)."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def floor(folder: str, processes: int) -> Figures:
    """A bare parse of the files, in that many processes at once."""
    parts = ([str(first), str(processes)] for first in range(processes))
    return measure(*([sys.executable, "-c", FLOOR, folder, *part] for part in parts))


def audit(folder: str, jobs: int) -> Figures:
    """Our audit of the files, with that many workers."""
    return measure([
        "env", f"VNICAUDIT_JOBS={jobs}", sys.executable, "-m", "vnicaudit", "audit", folder,
        "--format", "json", "--output", "/dev/null",
    ])  # fmt: skip


def ratios(folder: str, rounds: int, jobs: int) -> None:
    """Measure floor and audit with one process and with ``jobs``, in turn, and print both."""
    taken: dict[tuple[int, int], list[float]] = {}
    for _ in range(rounds):
        floors = {processes: floor(folder, processes) for processes in {1, jobs}}
        for workers in sorted({1, jobs}):
            ours = audit(folder, workers)
            print(f"{workers} workers: {ours.cpu:.2f} s CPU, {ours.wall:.2f} s, "
                  f"peak {ours.peak / 1024:.0f} MiB")  # fmt: skip
            for processes, bare in floors.items():
                taken.setdefault((workers, processes), []).append(ours.cpu / bare.cpu)
        for processes, bare in floors.items():
            print(f"floor in {processes}: {bare.cpu:.2f} s CPU, {bare.wall:.2f} s")
    for (workers, processes), found in taken.items():
        print(f"{workers} workers to a floor in {processes}, CPU time: median "
              f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")  # fmt: skip


def main() -> None:
    """Create the files, measure in turn, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dice = random.Random(20261121)
        sizes = []
        for number in range(arguments.files):
            text = definition(number, dice)
            sizes.append(len(text))
            Path(folder, f"{number:06d}.xml").write_text(text)
        load = os.getloadavg()[0]
        print(f"{arguments.files} files, {statistics.mean(sizes):.0f} bytes each, load {load:.1f}")
        ratios(folder, arguments.rounds, arguments.jobs)


if __name__ == "__main__":
    main()
