"""Facts read from an end just before and just after a run, in one round trip.

How long threads queued for the CPUs of a machine: pressure stall information (Linux 4.20 and
later, unless switched off; Documentation/accounting/psi.rst).

``total`` of ``some`` counts microseconds in which a thread that was ready to run waited for a CPU.
The kernel weighs each CPU by the time it was not idle (collect_percpu_times in kernel/sched/psi.c),
so it is a share of busy CPUs, and does not grow with their number. It counts everything on that
machine, including the generator and the network's own threads.

Bytes that the NICs of an end counted during a run: did the payload take the NIC that the result
is about?

Source: ``/proc/net/dev`` of the end's own network namespace (net/core/net-procfs.c,
``dev_seq_printf_stats``). Both directions are added up: data that a guest sends, its hypervisor
counts as received by the TAP. Headers and the warm-up are counted too, so a NIC that carried the
payload counts more than the payload. A counter of 32 bits wraps (``unsigned long`` of a 32-bit
kernel).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.cpu import CPU_TIME, CpuReading, cpu_reading
from vnicaudit.bench.facts.sections import Section, ask, text_of
from vnicaudit.model.measurement import End

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


COUNTERS = r"""
part nics
sed -n '3,4098s/^ *\([^ :]*\): *\([0-9]*\)\( \{1,\}[0-9]\{1,\}\)\{7\} \{1,\}\([0-9]\{1,\}\) .*/\1 \2 \4/p' \
    /proc/net/dev
part nic
case $1 in
    target) ip -o addr show to "$2" | sed 's/^[0-9]*: *\([^ ]*\) .*/\1/' | sort -u ;;
    peer) ip -o route get "$2" | sed -n 's/.* dev \([^ ]*\).*/\1/p' ;;
esac 2>/dev/null
"""  # noqa: E501  (an expression of sed)
"""Sections that :func:`nic_reading` reads. ``$1``: which end it is, ``$2``: the target's address.
The target's NIC is the one that has this address, the peer's the one on the way to it."""

LAG_SECONDS = 2.5
"""Seconds after which drivers that fetch their counters from the device have done so."""
_WRAP = 2**32
_LINE = re.compile(r"(\S{1,64}) ([0-9]{1,20}) ([0-9]{1,20})")


class NicReading(NamedTuple):
    """Counters of an end at one moment: NIC -> bytes received, bytes sent. ``subject_nic``: the NIC
    that the result is about; None: no or several candidates."""

    counters: Mapping[str, tuple[int, int]]
    subject_nic: str | None


def nic_reading(sections: Sequence[Section]) -> NicReading | None:
    """Parse the sections of :data:`COUNTERS`; None if there are no counters."""
    found = {
        line[1]: (int(line[2]), int(line[3]))
        for text in text_of(sections, "nics").splitlines()
        if (line := _LINE.fullmatch(text))
    }
    named = text_of(sections, "nic").split()
    return NicReading(found, named[0] if len(named) == 1 else None) if found else None


def counted_between(before: NicReading, after: NicReading) -> dict[str, int]:
    """NIC -> bytes counted, for NICs present at both readings. A counter that went back has
    wrapped, or belongs to a new NIC of the same name, which is left out."""
    counted: dict[str, int] = {}
    for name, early in before.counters.items():
        if name not in after.counters:
            continue
        risen = [_risen(*pair) for pair in zip(early, after.counters[name], strict=True)]
        if None not in risen:
            counted[name] = sum(filter(None, risen))
    return counted


def counted_both_ways(
    before: NicReading | None, after: NicReading | None, seconds: float
) -> bool | None:
    """True if the NIC that the result is about counted bytes in and out, False if it counted none
    in one direction; None: it was not present at both readings, or its driver may not have fetched
    them."""
    if before is None or after is None:
        return None
    name = after.subject_nic
    if name is None or name != before.subject_nic:
        return None
    early, late = before.counters.get(name), after.counters.get(name)
    if early is None or late is None:
        return None
    risen = [_risen(*pair) for pair in zip(early, late, strict=True)]
    if None in risen:
        return None
    return all(risen) or (False if seconds >= LAG_SECONDS else None)


def _risen(early: int, late: int) -> int | None:
    if late >= early:
        return late - early
    return late - early + _WRAP if early < _WRAP else None


def may_have_wrapped(after: NicReading, payload: float) -> bool:
    """True if the payload is large enough for 32-bit counters to wrap, and no counter there is
    known to be wider."""
    return payload >= _WRAP and all(max(each) < _WRAP for each in after.counters.values())


_SCRIPT = CPU_TIME + PRESSURE + COUNTERS


class EndReading(NamedTuple):
    """An end at one moment. ``nics`` None: it has no readable counters. ``pressure``: microseconds
    in which threads queued for its CPUs, since the boot; None: unknown."""

    cpu: CpuReading
    nics: NicReading | None
    pressure: int | None


def read_end(endpoint: Endpoint, end: End, address: str) -> EndReading:
    """Read an end. ``address``: the target's. Raises EndpointError, MeasureError (no Linux, no
    ``/proc``)."""
    sections = ask(endpoint, _SCRIPT, end, address)
    return EndReading(cpu_reading(sections), nic_reading(sections), waited_microseconds(sections))
