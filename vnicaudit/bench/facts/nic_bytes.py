"""Bytes that the NICs of an end counted during a run: did the payload take the NIC that the result
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
