"""The QEMU process of a domain, at the endpoint of its hypervisor, and the lines of
``/proc/PID/stat`` and ``/proc/PID/task/TID/stat`` (Documentation/filesystems/proc.rst, table
1-4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.sections import Section, ask
from vnicaudit.errors import MeasureError, TargetError
from vnicaudit.model.nic import RunningNic
from vnicaudit.model.running import RunningQemu
from vnicaudit.remedy.hypervisor import ReadCommandLine

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in include/linux/sched.h: no program can give itself this flag."""

_NUMBER = r"-?[0-9]{1,20}"
_FIRST = re.compile(
    rf"([0-9]{{1,20}}) \((.*)\) [A-Za-z] ({_NUMBER}(?: {_NUMBER}){{18,}})\n", re.DOTALL
)
"""The text between the first and the last parenthesis is the name, which programs choose
themselves."""


class Process(NamedTuple):
    """A process, or one of its threads. ``spent``: ticks of CPU time, user and system; for a
    process including its threads that have ended (thread_group_cputime_adjusted), without its
    children. ``started``: ticks after boot; together with the id it identifies the process."""

    id: int
    name: str
    spent: int
    started: int
    kernel: bool


def process(line: str) -> Process:
    """The process in one line. Raises MeasureError."""
    found = _FIRST.fullmatch(line)
    if found is None:
        raise MeasureError("/proc/PID/stat is not in Linux's format")
    # from the fourth on: ppid 0, flags 5, utime 10, stime 11, starttime 18
    numbers = [int(number) for number in found[3].split()]
    return Process(
        id=int(found[1]),
        name=found[2],
        spent=numbers[10] + numbers[11],
        started=numbers[18],
        kernel=bool(numbers[5] & _KERNEL_THREAD),
    )


_SCRIPT = r"""
for folder in /proc/[0-9]*; do
    found=
    # read drops the NUL bytes between arguments
    while { IFS= read -r line || [ -n "$line" ]; }; do
        case $line in *qemu*"$1"* | *kvm*"$1"*) found=yes ;; esac
    done 2>/dev/null <"$folder/cmdline"
    [ -n "$found" ] || continue
    part "stat ${folder#/proc/}"
    cat "$folder/stat"
    part "cmdline ${folder#/proc/}"
    # NUL does not pass through every transport
    head -c 1048576 "$folder/cmdline" | tr '\000\n' '\n\036'
done 2>/dev/null
"""
_MOST = 1024


class GuestHost(NamedTuple):
    """A machine that guests run on. ``read``: reads a process's command line."""

    endpoint: Endpoint
    read: ReadCommandLine


class GuestProcess(NamedTuple):
    """``started``: ticks after boot. ``vhost``: its NIC's packets go through vhost workers of the
    kernel. ``busy_poll``: they go through a process that polls (vhost-user)."""

    pid: int
    started: int
    vhost: bool
    busy_poll: bool


def find_guest(host: GuestHost, domain: str, mac: str | None = None) -> GuestProcess | None:
    """The QEMU of the domain with this UUID or name; None if there is none, or several match.
    ``mac``: the NIC in question; None: any. Raises EndpointError, MeasureError."""
    sections = ask(host.endpoint, _SCRIPT, domain)
    running = _running(sections, host.read)
    found = [(pid, qemu) for pid, qemu in running if domain in (qemu.uuid, qemu.name)]
    if len(found) > 1:
        found = [(pid, qemu) for pid, qemu in found if _nics(qemu, mac)]
    if len(found) != 1:
        return None
    ((pid, qemu),) = found
    return _guest(qemu, process(_section_text(sections, f"stat {pid}")).started, pid, mac)


def _running(
    sections: Sequence[Section], read: ReadCommandLine
) -> Iterator[tuple[int, RunningQemu]]:
    """Every QEMU with a readable command line; other programs with the domain in their arguments (a
    virsh, a grep) are left out."""
    for section in sections[:_MOST]:
        kind, _space, pid = section.name.partition(" ")
        if kind != "cmdline":
            continue
        data = section.text.replace("\n", "\0").replace("\036", "\n").encode()
        try:
            yield from ((int(pid), qemu) for qemu in read(data, target="", file=None))
        except TargetError:
            continue


def _nics(qemu: RunningQemu, mac: str | None) -> tuple[RunningNic, ...]:
    """The NICs with that MAC; all NICs if it is unknown."""
    return tuple(nic for nic in qemu.nics if mac is None or (nic.mac or "").lower() == mac.lower())


def _guest(qemu: RunningQemu, started: int, pid: int, mac: str | None) -> GuestProcess:
    """The guest's process. A NIC that is not on the command line was plugged in later: it may be of
    the kind of any of the others."""
    nics = _nics(qemu, mac) or qemu.nics
    return GuestProcess(
        pid,
        started,
        vhost=any(nic.vhost for nic in nics),
        busy_poll=any(nic.backend == "vhost-user" for nic in nics),
    )


def _section_text(sections: Sequence[Section], name: str) -> str:
    for section in sections:
        if section.name == name:
            return section.text
    raise MeasureError("a process ended while it was being read")
