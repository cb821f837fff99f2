"""Lines of ``/proc/PID/stat`` and ``/proc/PID/task/TID/stat``
(Documentation/filesystems/proc.rst, table 1-4)."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.errors import MeasureError

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in include/linux/sched.h: no program can give itself this flag."""

_NUMBER = r"-?[0-9]{1,20}"
_FIRST = re.compile(
    rf"([0-9]{{1,20}}) \((.*)\) [A-Za-z] ({_NUMBER}(?: {_NUMBER}){{18,}})\n", re.DOTALL
)
"""Whatever is between the first and the last parenthesis is the name: programs choose theirs."""


class Process(NamedTuple):
    """A process, or one of its threads. ``spent``: ticks of CPU time, of user and system; of a
    process, with those of its threads that have ended (thread_group_cputime_adjusted), without
    its children. ``started``: ticks after boot; with the id, it is the same process."""

    id: int
    name: str
    spent: int
    started: int
    kernel: bool


def process(line: str) -> Process:
    """One line. Raises MeasureError."""
    found = _FIRST.fullmatch(line)
    if found is None:
        raise MeasureError("/proc/PID/stat is not what Linux writes")
    # from the fourth on: ppid 0, flags 5, utime 10, stime 11, starttime 18
    numbers = [int(number) for number in found[3].split()]
    return Process(
        id=int(found[1]),
        name=found[2],
        spent=numbers[10] + numbers[11],
        started=numbers[18],
        kernel=bool(numbers[5] & _KERNEL_THREAD),
    )
