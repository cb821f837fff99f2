"""Bytes that the NICs of an end counted during a run: did the payload take the NIC that the result
is about?

``/proc/net/dev`` of the end's own network namespace (net/core/net-procfs.c,
``dev_seq_printf_stats``). Both directions are added up: what a guest sends, its hypervisor counts
as received by the TAP. Headers and the warm-up are counted too, so a NIC that carried the payload
counts more than it. A counter of 32 bits wraps (``unsigned long`` of a 32-bit kernel).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vnicaudit.bench.facts.sections import Section, text_of

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
The NIC of the target is the one that has this address, the peer's the one on the way to it."""

LAG_SECONDS = 2.5
"""After which drivers that fetch their counters from the device have done so."""
_WRAP = 2**32
_LINE = re.compile(r"(\S{1,64}) ([0-9]{1,20}) ([0-9]{1,20})")


class NicReading(NamedTuple):
    """Counters of an end at one moment: NIC -> bytes received, bytes sent. ``subject_nic``: the NIC
    that the result is about; None: none, or several, could be."""

    counters: Mapping[str, tuple[int, int]]
    subject_nic: str | None


def nic_reading(sections: Sequence[Section]) -> NicReading | None:
    """Parse the sections of :data:`COUNTERS`; None where there are no counters."""
    found = {
        line[1]: (int(line[2]), int(line[3]))
        for text in text_of(sections, "nics").splitlines()
        if (line := _LINE.fullmatch(text))
    }
    named = text_of(sections, "nic").split()
    return NicReading(found, named[0] if len(named) == 1 else None) if found else None


def counted_between(before: NicReading, after: NicReading) -> dict[str, int]:
    """NIC -> bytes counted, of those that were there all the time. One that counts less than before
    wrapped; or it is a new one of the same name, and is left out."""
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
    """True where the NIC that the result is about counted bytes in and out, False where it counted
    none one way; None: it was not there all the time, or its driver may not have fetched them."""
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
    """True where so much was carried that counters of 32 bits wrapped, and no counter there is
    known to have more."""
    return payload >= _WRAP and all(max(each) < _WRAP for each in after.counters.values())
