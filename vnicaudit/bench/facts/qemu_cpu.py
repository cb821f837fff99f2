"""CPU time of one guest on its hypervisor: QEMU with all its threads, and the vhost workers.

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
from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.cpu import CLOCK, BootTime, clock
from vnicaudit.bench.facts.guest_process import GuestProcess, Process, process
from vnicaudit.bench.facts.sections import Section, ask, text_of

_SCRIPT = (
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
    ``workers``: those that are kernel threads. Both by thread id. ``waited``: nanoseconds that each
    of these and QEMU's main loop waited for a CPU."""

    clock: BootTime
    process: Process
    threads: dict[int, Process]
    workers: dict[int, Process]
    waited: dict[int, int] = {}  # noqa: RUF012  (a default that nobody changes)


class HostUse(NamedTuple):
    """CPU use in microseconds: total, and the part of the vhost workers; the seconds it was used
    in, and the boot of the hypervisor. ``waited``: per cent of that time that the longest-waiting
    of its threads waited for a CPU. None: unknown."""

    total: float | None = None
    vhost: float | None = None
    seconds: float | None = None
    boot: str = ""
    waited: float | None = None


def read_qemu(endpoint: Endpoint, guest: GuestProcess) -> QemuReading | None:
    """Reading of the guest's QEMU process now; None if it has ended, or another process has its id.
    Raises EndpointError, MeasureError."""
    found = qemu_reading(ask(endpoint, _SCRIPT, str(guest.pid)))
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


def _waited(sections: Sequence[Section]) -> dict[int, int]:
    return {
        int(tid): int(numbers[1])
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
    workers = _spent(before.workers, after.workers)
    process = after.process.spent - before.process.spent
    total, vhost_part = process + workers, _spent(before.threads, after.threads) + workers
    window = after.clock.uptime - before.clock.uptime
    waited = _longest_wait(before, after, window)
    return HostUse(total * each, vhost_part * each, window, boot, waited)


def _longest_wait(before: QemuReading, after: QemuReading, seconds: float) -> float | None:
    """Per cent of the time for the longest-waiting thread; None if no thread is in both
    readings."""
    both = before.waited.keys() & after.waited.keys()
    if not both or seconds <= 0:
        return None
    longest = max(after.waited[tid] - before.waited[tid] for tid in both)
    return min(100.0, max(0.0, longest / (seconds * 1e9) * 100))


def _spent(before: dict[int, Process], after: dict[int, Process]) -> int:
    """Ticks. A thread that was not there before started in between; the ticks of one that has ended
    (its NIC was unplugged) are unknown."""
    return sum(now.spent - _earlier(before.get(tid), now) for tid, now in after.items())


def _earlier(before: Process | None, after: Process) -> int:
    return before.spent if before is not None and _is_same_process(before, after) else 0


def _is_same_process(before: Process, after: Process) -> bool:
    return (before.id, before.started) == (after.id, after.started)


def workers_are(reading: QemuReading) -> str | None:
    """``task`` (threads of QEMU) or ``kthread``; None if there is no vhost worker."""
    if reading.threads:
        return "task"
    return "kthread" if reading.workers else None
