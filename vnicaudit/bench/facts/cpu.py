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
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.facts.sections import Section, text_of
from vnicaudit.errors import MeasureError

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
while IFS=: read -r number controllers path; do
    case ,$controllers, in
        ,,) throttle /sys/fs/cgroup "$path" ;;
        *,cpu,*) throttle /sys/fs/cgroup/cpu "$path" ;;
    esac
done </proc/self/cgroup
"""
)
"""Sections that :func:`cpu_reading` reads."""
_STAT = re.compile(r"cpu((?: +[0-9]{1,20}){8,})\n")
_THROTTLED = re.compile(r"^throttled_(usec|time) ([0-9]{1,20})\n", re.MULTILINE)
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
    """A machine at one moment. ``throttled``: cgroup -> seconds; empty if none is visible."""

    clock: BootTime
    ticks: Ticks
    throttled: dict[str, float]


class Used(NamedTuple):
    """CPU use between two readings. ``busy`` in microseconds, ``steal`` and ``throttled`` in per
    cent, the window in seconds; None: the readings cannot tell. ``boot``: that machine's boot id;
    empty: unknown."""

    busy: float | None = None
    steal: float | None = None
    throttled: float | None = None
    seconds: float | None = None
    boot: str = ""


def cpu_reading(sections: Sequence[Section]) -> CpuReading:
    """The CPU time in the sections of :data:`CPU_TIME`: in a container, that of the whole machine,
    but with the container's quotas. Raises MeasureError."""
    return CpuReading(clock(sections), ticks(text_of(sections, "stat")), _throttled(sections))


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


def _throttled(sections: Sequence[Section]) -> dict[str, float]:
    return {
        section.name.partition(" ")[2]: throttled_seconds(section.text)
        for section in sections
        if section.name.startswith("throttle ")
    }


def use_between(before: CpuReading, after: CpuReading) -> Used:
    """CPU use between two readings of one machine; unknown if it was booted in between, or its
    counters went back (a migrated guest)."""
    window = after.clock.uptime - before.clock.uptime
    boot = after.clock.boot
    if before.clock.boot != boot or window <= 0:
        return Used()
    throttled = _held_back(before.throttled, after.throttled, window)
    spent = Ticks(*(late - early for early, late in zip(before.ticks, after.ticks, strict=True)))
    # idle and iowait may shrink (proc.rst); the others never should
    if min(spent.busy, spent.user, spent.system, spent.steal) < 0:
        return Used(throttled=throttled, seconds=window, boot=boot)
    busy = spent.busy * 1e6 / after.clock.ticks
    return Used(busy, _steal(spent), throttled, window, boot)


def _steal(spent: Ticks) -> float | None:
    """Steal in per cent of all CPU time, including idle time, as top and vmstat show it."""
    there_was = spent.busy + spent.steal + max(spent.idle, 0) + max(spent.iowait, 0)
    return 100 * spent.steal / there_was if there_was else None


def _held_back(before: dict[str, float], after: dict[str, float], window: float) -> float | None:
    """Per cent of the window for the group that was held back most. Groups that are not in both
    readings (each SSH session has its own) cannot be judged; those above them can."""
    both = before.keys() & after.keys()
    if not both:
        return None
    longest = max(after[name] - before[name] for name in both)
    return min(100.0, max(0.0, 100 * longest / window))
