"""How long threads queued for the CPUs of a machine: pressure stall information (Linux 4.20 and
later, unless switched off; Documentation/accounting/psi.rst).

``total`` of ``some`` counts microseconds in which a thread that was ready to run waited for a CPU.
The kernel weighs each CPU by the time it was not idle (collect_percpu_times in kernel/sched/psi.c),
so it is a share of busy CPUs, and does not grow with their number. It counts everything on that
machine, including the generator and the network's own threads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vnicaudit.bench.facts.sections import Section, text_of

PRESSURE = r"""
part pressure; head -c 512 /proc/pressure/cpu 2>/dev/null
"""
"""The section that :func:`waited_microseconds` reads."""

_SOME = re.compile(r"^some [^\n]*\btotal=([0-9]{1,20})$", re.MULTILINE)


def waited_microseconds(sections: Sequence[Section]) -> int | None:
    """Time in which threads queued for a CPU, since the boot; None if the kernel does not report
    it."""
    found = _SOME.search(text_of(sections, "pressure"))
    return None if found is None else int(found[1])


def percent_between(before: int | None, after: int | None, seconds: float | None) -> float | None:
    """Per cent of the time between two readings; None if they cannot tell."""
    if before is None or after is None or not seconds or after < before:
        return None
    return min(100.0, (after - before) / (seconds * 1e6) * 100)
