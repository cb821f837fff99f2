"""The QEMU process of a domain, at the endpoint of its hypervisor, and the lines of
``/proc/PID/stat`` and ``/proc/PID/task/TID/stat`` (Documentation/filesystems/proc.rst, table
1-4).

CPU time of one guest on its hypervisor: QEMU with all its threads, and the vhost workers.

QEMU's time is read from ``/proc/PID/stat``, not added up from its threads: the time of a thread
that ends would be lost, but the process keeps it (signal->utime; fs/proc/array.c), and QEMU's pool
of I/O threads ends and starts threads all the time.

vhost workers are threads of QEMU since Linux 6.4 (vhost_task, commit 6e890c5d5021; clone with
CLONE_THREAD), so that sum includes them. Before, and again if vhost is configured so
(``fork_owner``, commit 7d9896e9f6d0), each is a kernel thread of its own, a child of kthreadd:
these are added. Both are named ``vhost-PID`` after the process that opened the device; the number
is the host's, so in a container only the threads of QEMU itself can be identified by it. Nothing is
counted twice: a thread of QEMU is never added.

How long a thread was ready to run and had no CPU is the second number of its ``schedstat``, in
nanoseconds (Documentation/scheduler/sched-stats.rst). It is read for the vhost workers and for
QEMU's main loop, in which NICs without vhost are emulated; libvirt reports that of vCPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.cpu import CLOCK, BootTime, clock, longest_wait
from vnicaudit.errors import MeasureError, TargetError, VnicauditError
from vnicaudit.model.host import Section
from vnicaudit.model.nic import NicConfig, RunningNic, RunningQemu
from vnicaudit.platforms.domain_xml.definitions import definition_of
from vnicaudit.reaching.sections import ask, text_of
from vnicaudit.remedy.hypervisor import Machine, ReadCommandLine

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


SWITCH_THREADS = r"""
part threads
for folder in /proc/[0-9]*; do
    { read -r name <"$folder/comm"; } || continue
    case $name in
        ovs-vswitchd | vhost-[0-9]*) cat "$folder/stat" ;;
        qemu* | kvm*)
            for task in "$folder"/task/[0-9]*; do
                { read -r name <"$task/comm"; } || continue
                case $name in vhost-[0-9]*) cat "$task/stat" ;; esac
            done ;;
    esac
done 2>/dev/null | head -c 262144
"""
"""The section that :func:`switch_threads` reads: a process's line has the time of all its threads,
so that of ``ovs-vswitchd`` has its PMD threads."""


def switch_threads(sections: Sequence[Section], ticks: int) -> dict[str, float]:
    """Seconds that ``ovs-vswitchd`` and each vhost worker have spent, by kind (``vswitch``,
    ``vhost``), id and start; empty where none is visible, as in a container."""
    found = {}
    for line in text_of(sections, "threads").splitlines():
        try:
            one = process(f"{line}\n")
        except MeasureError:  # cut off
            continue
        kind = "vhost" if one.name.startswith("vhost-") else "vswitch"
        found[f"{kind} {one.id} {one.started}"] = one.spent / ticks
    return found


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
    stat = text_of(sections, f"stat {pid}")
    if not stat:
        raise MeasureError("a process ended while it was being read")
    # a NIC that is not on the command line was plugged in later: it may be of the kind of any other
    nics = _nics(qemu, mac) or qemu.nics
    return GuestProcess(
        pid,
        process(stat).started,
        vhost=any(nic.vhost for nic in nics),
        busy_poll=any(nic.backend == "vhost-user" for nic in nics),
    )


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


_BY_TYPE = ("vdpa", "vhostuser", "hostdev")
"""Types of ``<interface>`` with a data path other than a tap's."""


def guest_nic(machine: Machine, uri: str, mac: str | None) -> str | None:
    """The kind of the guest's NIC with that MAC address at this moment; None if it is unknown.
    ``uri``: of its host."""
    try:
        domain = definition_of(machine.live(), uri)
    except VnicauditError:
        return None
    found = [nic.declared for nic in domain.nics if mac is not None and nic.mac == mac.lower()]
    return nic_words(found[0]) if len(found) == 1 else None


def nic_words(config: NicConfig) -> str:
    """The kind of a NIC: ``rtl8139``, ``virtio, 4 queues``, ``virtio, vdpa``."""
    words = [config.model or config.type]
    if config.type in _BY_TYPE and config.type not in words:
        words.append(config.type)
    if config.queues is not None and config.queues > 1:
        words.append(count(config.queues, "queue"))
    return ", ".join(words)


_QEMU_SCRIPT = (
    CLOCK
    + r"""
part process; cat "/proc/$1/stat"
part "waited $1"; cat "/proc/$1/task/$1/schedstat" 2>/dev/null
for folder in "/proc/$1"/task/[0-9]* /proc/[0-9]*; do
    { read -r name <"$folder/comm"; } 2>/dev/null || continue
    case $folder,$name in
        */task/*,vhost-[0-9]*) part thread ;;
        *,"vhost-$1") part worker ;;
        *) continue ;;
    esac
    cat "$folder/stat" 2>/dev/null
    part "waited ${folder##*/}"; cat "$folder/schedstat" 2>/dev/null
done
"""
)
_SCHEDSTAT = re.compile(r"[0-9]{1,20} ([0-9]{1,20}) [0-9]{1,20}\n")


class QemuReading(NamedTuple):
    """A guest's QEMU at one moment. ``threads``: vhost workers that are threads of QEMU;
    ``workers``: those that are kernel threads. Both by thread id. ``waited``: seconds that each of
    these and QEMU's main loop waited for a CPU."""

    clock: BootTime
    process: Process
    threads: dict[int, Process]
    workers: dict[int, Process]
    waited: dict[int, float] = {}  # noqa: RUF012  (a default that nobody changes)


class HostUse(NamedTuple):
    """CPU use in microseconds, with the vhost workers; the seconds it was used in, and the boot of
    the hypervisor. ``waited``: per cent of that time that the longest-waiting
    of its threads waited for a CPU. None: unknown."""

    total: float | None = None
    seconds: float | None = None
    boot: str = ""
    waited: float | None = None


def read_qemu(endpoint: Endpoint, guest: GuestProcess) -> QemuReading | None:
    """Reading of the guest's QEMU process now; None if it has ended, or another process has its id.
    Raises EndpointError, MeasureError."""
    found = qemu_reading(ask(endpoint, _QEMU_SCRIPT, str(guest.pid)))
    return found if found is not None and found.process.started == guest.started else None


def qemu_reading(sections: Sequence[Section]) -> QemuReading | None:
    """Parse the output of the script; None if there is no such process. Raises MeasureError."""
    line = text_of(sections, "process")
    if not line:
        return None
    threads = _by_id(sections, "thread")
    found = _by_id(sections, "worker").items()
    workers = {tid: one for tid, one in found if one.kernel and tid not in threads}
    main = process(line)
    known = {main.id, *threads, *workers}
    waited = {tid: since for tid, since in _waited(sections).items() if tid in known}
    return QemuReading(clock(sections), main, threads, workers, waited)


def _waited(sections: Sequence[Section]) -> dict[int, float]:
    return {
        int(tid): int(numbers[1]) / 1e9
        for section in sections
        if (tid := section.name.partition("waited ")[2]).isdecimal()
        and (numbers := _SCHEDSTAT.fullmatch(section.text)) is not None
    }


def _by_id(sections: Sequence[Section], name: str) -> dict[int, Process]:
    """Threads by id. A thread that ended while it was read has no text."""
    found = (process(item.text) for item in sections if item.name == name and item.text)
    return {item.id: item for item in found}


def host_use(before: QemuReading, after: QemuReading, *, vhost: bool) -> HostUse:
    """CPU use of one guest between two readings. ``vhost``: it is known to have vhost workers; if
    none is visible then (in a container, on a kernel where they are not threads of QEMU), the
    visible use is incomplete, and None is returned."""
    boot = after.clock.boot
    if not _is_same_process(before.process, after.process) or before.clock.boot != boot:
        return HostUse()
    if vhost and not (after.threads or after.workers):
        return HostUse(boot=boot)
    each = 1e6 / after.clock.ticks
    total = after.process.spent - before.process.spent + _spent(before.workers, after.workers)
    window = after.clock.uptime - before.clock.uptime
    waited = longest_wait(before.waited, after.waited, window)
    return HostUse(total * each, window, boot, waited)


def _spent(before: dict[int, Process], after: dict[int, Process]) -> int:
    """Ticks. A thread that was not there before started in between; the ticks of one that has ended
    (its NIC was unplugged) are unknown."""
    return sum(now.spent - _earlier(before.get(tid), now) for tid, now in after.items())


def _earlier(before: Process | None, after: Process) -> int:
    return before.spent if before is not None and _is_same_process(before, after) else 0


def _is_same_process(before: Process, after: Process) -> bool:
    return (before.id, before.started) == (after.id, after.started)
