"""CPU time of a machine during a run, the part that its hypervisor took, and how long a quota held
it back.

The kernel counts in ``/proc/stat`` (Documentation/filesystems/proc.rst) in ticks, ``getconf
CLK_TCK`` of them a second: 100 on all architectures of QEMU's guests (USER_HZ in
include/asm-generic/param.h), so a run of 10 s is known to 0.1 % of a CPU. CPU time of guests on
that machine is included in *user* (account_guest_time in kernel/sched/cputime.c).

Quotas: ``throttled_usec`` of ``cpu.stat`` in cgroup v2 (Documentation/admin-guide/cgroup-v2.rst),
``throttled_time`` in nanoseconds in v1 (Documentation/scheduler/sched-bwc.rst), for the group the
programs run in and all above it. The kernel adds up the throttled time of each CPU, so several
threads may count for more than one second a second.

How long threads queued for the CPUs of a machine: pressure stall information (Linux 4.20 and later,
unless switched off; Documentation/accounting/psi.rst). ``total`` of ``some`` counts microseconds in
which a thread that was ready to run waited for a CPU. The kernel weighs each CPU by the time it was
not idle (collect_percpu_times in kernel/sched/psi.c), so it is a share of busy CPUs, and does not
grow with their number. It counts everything on that machine, including the generator and the
network's own threads.

What a container used is ``usage_usec`` in the ``cpu.stat`` of its own cgroup (v2), which is the
root of what it sees. A cgroup is told from others by its inode; that of the machine's root is 1
(kernfs_init_root in fs/kernfs/mount.c). Time in softirqs is no cgroup's if the kernel accounts for
it apart (CONFIG_IRQ_TIME_ACCOUNTING): it is read per CPU, since one CPU may do nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from vnicaudit.errors import MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import CpuParts
from vnicaudit.reaching.sections import text_of

K = TypeVar("K")

USER_HZ = 100
"""Used if there is no ``getconf``."""

CLOCK = """
part uptime; cat /proc/uptime
part ticks; getconf CLK_TCK 2>/dev/null || echo
part boot; cat /proc/sys/kernel/random/boot_id
"""
"""Sections that :func:`clock` reads; the sections that follow directly are from the same moment."""

CPU_TIME = (
    CLOCK
    + r"""
part stat; head -n 1 /proc/stat
part softirqs
sed -n 's/^cpu\([0-9]\{1,5\}\)\( [0-9]\{1,20\}\)\{6\} \([0-9]\{1,20\}\) .*/\1 \3/p' /proc/stat
throttle() { # MOUNT PATH: of a group and of all above it
    path=${2%/}
    case $path in */..*) path= ;; esac
    [ -d "$1$path" ] || path=
    while :; do
        if [ -r "$1$path/cpu.stat" ]; then
            part "throttle $1$path"
            head -c 2048 "$1$path/cpu.stat"
        fi
        [ -n "$path" ] || break
        path=${path%/*}
    done
}
usage() { # PATH: of a group, also where version 2 stands beside version 1
    path=${1%/}
    case $path in */..*) path= ;; esac
    for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ -r "$mount$path/cgroup.procs" ] || continue
        part group
        ls -di "$mount$path" && grep '^usage_usec ' "$mount$path/cpu.stat"
        return
    done 2>/dev/null
}
while IFS=: read -r number controllers path; do
    case ,$controllers, in
        ,,) usage "$path"; throttle /sys/fs/cgroup "$path" ;;
        *,cpu,*) throttle /sys/fs/cgroup/cpu "$path" ;;
    esac
done </proc/self/cgroup
part pressure; head -c 512 /proc/pressure/cpu 2>/dev/null
"""
)
"""Sections that :func:`cpu_reading` reads."""
_STAT = re.compile(r"cpu((?: +[0-9]{1,20}){8,})\n")
_THROTTLED = re.compile(r"^throttled_(usec|time) ([0-9]{1,20})\n", re.MULTILINE)
_SOME = re.compile(r"^some [^\n]*\btotal=([0-9]{1,20})$", re.MULTILINE)
_GROUP = re.compile(r" *([0-9]{1,20}) [^\n]*\nusage_usec ([0-9]{1,20})\n")
_SOFTIRQS = re.compile(r"^([0-9]{1,5}) ([0-9]{1,20})$", re.MULTILINE)
_ROOT = "1"
_UPTIME = re.compile(r"([0-9]{1,12}\.[0-9]{1,9}) [0-9]+\.[0-9]+\n")


class BootTime(NamedTuple):
    """The moment of a reading: seconds since this boot, and the boot's id. ``ticks``: of CPU time,
    per second."""

    uptime: float
    ticks: int
    boot: str


class Ticks(NamedTuple):
    """The first eight columns of ``/proc/stat``, for all CPUs. ``user`` and ``nice`` include
    guests."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    @property
    def busy(self) -> int:
        """CPU time that was used here, without the time that the hypervisor took."""
        return self.user + self.nice + self.system + self.irq + self.softirq


class CpuReading(NamedTuple):
    """A machine at one moment, all in seconds since its boot. ``throttled``: by cgroup; empty if
    none is visible. ``pressure``: empty if the kernel does not report it. ``softirqs``: by CPU;
    ``group``: inode of the own cgroup -> what it used; ``threads``: of the switch and of vhost, by
    kind, id and start."""

    clock: BootTime
    ticks: Ticks
    throttled: Mapping[str, float]
    pressure: Mapping[str, float] = {}
    softirqs: Mapping[str, float] = {}
    group: Mapping[str, float] = {}
    threads: Mapping[str, float] = {}


class Used(NamedTuple):
    """CPU use between two readings. ``busy`` in microseconds, ``steal``, ``throttled`` and
    ``pressure`` in per cent, the window in seconds; None: the readings cannot tell. ``boot``: that
    machine's boot id; empty: unknown. ``group``: inode of the cgroup there; empty: none of its
    own. ``cpus``: how many there are; 0: unknown."""

    busy: float | None = None
    steal: float | None = None
    throttled: float | None = None
    seconds: float | None = None
    boot: str = ""
    pressure: float | None = None
    parts: CpuParts = CpuParts()
    group: str = ""
    cpus: int = 0


def cpu_reading(sections: Sequence[Section]) -> CpuReading:
    """The CPU time in the sections of :data:`CPU_TIME`: in a container, that of the whole machine,
    but with the container's quotas. Raises MeasureError."""
    throttled = {
        section.name.partition(" ")[2]: throttled_seconds(section.text)
        for section in sections
        if section.name.startswith("throttle ")
    }
    some = _SOME.search(text_of(sections, "pressure"))
    pressure = {"some": int(some[1]) / 1e6} if some else {}
    now = clock(sections)
    softirqs = {
        cpu: int(spent) / now.ticks
        for cpu, spent in _SOFTIRQS.findall(text_of(sections, "softirqs"))
    }
    own = _GROUP.fullmatch(text_of(sections, "group"))
    group = {own[1]: int(own[2]) / 1e6} if own and own[1] != _ROOT else {}
    return CpuReading(now, ticks(text_of(sections, "stat")), throttled, pressure, softirqs, group)


def clock(sections: Sequence[Section]) -> BootTime:
    """The clock in the sections of :data:`CLOCK`. Raises MeasureError."""
    uptime = _UPTIME.fullmatch(text_of(sections, "uptime"))
    if uptime is None:
        raise MeasureError("/proc/uptime is not in Linux's format")
    per_second = text_of(sections, "ticks").strip()
    known = int(per_second) if re.fullmatch(r"[1-9][0-9]{0,5}", per_second) else USER_HZ
    return BootTime(float(uptime[1]), known, text_of(sections, "boot").strip())


def ticks(line: str) -> Ticks:
    """The first line of ``/proc/stat``. Raises MeasureError."""
    found = _STAT.fullmatch(line)
    if found is None:
        raise MeasureError("/proc/stat is not in Linux's format")
    return Ticks(*(int(number) for number in found[1].split()[:8]))


def throttled_seconds(text: str) -> float:
    """Seconds of throttling in a ``cpu.stat``; 0 if its group cannot have a quota, and so has no
    such line."""
    found = _THROTTLED.search(text)
    if found is None:
        return 0.0
    return int(found[2]) / (1e6 if found[1] == "usec" else 1e9)


def use_between(before: CpuReading, after: CpuReading) -> Used:
    """CPU use between two readings of one machine; unknown if it was booted in between, or its
    counters went back (a migrated guest)."""
    window = after.clock.uptime - before.clock.uptime
    boot = after.clock.boot
    if before.clock.boot != boot or window <= 0:
        return Used()
    throttled = longest_wait(before.throttled, after.throttled, window)
    pressure = longest_wait(before.pressure, after.pressure, window)
    spent = Ticks(*(late - early for early, late in zip(before.ticks, after.ticks, strict=True)))
    # idle and iowait may shrink (proc.rst); the others never should
    if min(spent.busy, spent.user, spent.system, spent.steal) < 0:
        return Used(throttled=throttled, seconds=window, boot=boot, pressure=pressure)
    busy = spent.busy * 1e6 / after.clock.ticks
    parts, group = _parts(before, after), "".join(before.group.keys() & after.group.keys())
    cpus = len(after.softirqs)
    return Used(busy, _steal(spent), throttled, window, boot, pressure, parts, group, cpus)


def _parts(before: CpuReading, after: CpuReading) -> CpuParts:
    softirqs = _spent(before.softirqs, after.softirqs)
    kinds: dict[str, float] = {}
    for thread, spent in after.threads.items():  # one that was not there before began in between
        kind = thread.partition(" ")[0]
        kinds[kind] = kinds.get(kind, 0.0) + max(0.0, spent - before.threads.get(thread, 0.0)) * 1e6
    return CpuParts(
        group=next(iter(_spent(before.group, after.group)), None),
        softirq=sum(softirqs) if softirqs else None,
        softirq_of_busiest=max(softirqs, default=None),
        vswitch=kinds.get("vswitch"),
        vhost=kinds.get("vhost"),
    )


def _spent(before: Mapping[str, float], after: Mapping[str, float]) -> list[float]:
    """Microseconds between two readings, of each that is in both; empty if one went back."""
    spent = [(after[key] - before[key]) * 1e6 for key in before.keys() & after.keys()]
    return spent if min(spent, default=0.0) >= 0 else []


def _steal(spent: Ticks) -> float | None:
    """Steal in per cent of all CPU time, including idle time, as top and vmstat show it."""
    there_was = spent.busy + spent.steal + max(spent.idle, 0) + max(spent.iowait, 0)
    return 100 * spent.steal / there_was if there_was else None


def longest_wait(
    before: Mapping[K, float], after: Mapping[K, float], seconds: float
) -> float | None:
    """Per cent of the time for whatever waited longest between two readings of seconds. What is not
    in both (each SSH session has a cgroup of its own), or whose counter went back, cannot be
    judged; None: nothing can."""
    waited = [after[key] - before[key] for key in before.keys() & after.keys()]
    waited = [each for each in waited if each >= 0]
    return min(100.0, 100 * max(waited) / seconds) if waited and seconds > 0 else None
