"""A check that the payload of a run took the NIC that the result is about, at one end.

A counter that shows less than the payload is checked further before it is believed:

* some drivers fetch their counters from the device every second or two, so counters are read again
  a little later;
* a bond, bridge or VLAN, and the devices below and above it, count as one way;
* a route with several next hops uses the NICs of all of them;
* an address on ``lo`` or on a dummy is reached through any NIC, as the routes decide;
* if no NIC counted the missing bytes, the counters are blind (an eBPF program that hands packets
  on, hardware that forwards them), and nothing is reported.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, Measured, readable
from vnicaudit.bench.facts.cpu import CPU_TIME, CpuReading, cpu_reading
from vnicaudit.bench.facts.guest_process import SWITCH_THREADS, switch_threads
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import End, NicBytes
from vnicaudit.reaching.sections import ask, text_of

# Facts read from an end just before and just after a run, in one round trip.
#
# Bytes that the NICs of an end counted during a run: did the payload take the NIC that the result
# is about?
#
# Source: ``/proc/net/dev`` of the end's own network namespace (net/core/net-procfs.c,
# ``dev_seq_printf_stats``). Both directions are added up: data that a guest sends, its hypervisor
# counts as received by the TAP. Headers and the warm-up are counted too, so a NIC that carried the
# payload counts more than the payload.


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


def _risen(early: tuple[int, int], late: tuple[int, int]) -> tuple[int, int]:
    """Bytes received and sent in between."""
    return late[0] - early[0], late[1] - early[1]


def counted_between(before: NicReading, after: NicReading) -> dict[str, int]:
    """NIC -> bytes counted, for NICs present at both readings. One whose counter went
    back is new, and is left out."""
    counted: dict[str, int] = {}
    for name, early in before.counters.items():
        if name not in after.counters:
            continue
        risen = _risen(early, after.counters[name])
        if min(risen) >= 0:
            counted[name] = sum(risen)
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
    risen = _risen(early, late)
    if min(risen) < 0:
        return None
    return all(risen) or (False if seconds >= LAG_SECONDS else None)


_SCRIPT = CPU_TIME + SWITCH_THREADS + COUNTERS


class EndReading(NamedTuple):
    """An end at one moment. ``nics`` None: it has no readable counters."""

    cpu: CpuReading
    nics: NicReading | None


def read_end(endpoint: Endpoint, end: End, address: str) -> EndReading:
    """Read an end. ``address``: the target's. Raises EndpointError, MeasureError (no Linux, no
    ``/proc``)."""
    sections = ask(endpoint, _SCRIPT, end, address)
    cpu = cpu_reading(sections)
    cpu = cpu._replace(threads=switch_threads(sections, cpu.clock.ticks))
    return EndReading(cpu, nic_reading(sections))


LEAST_PAYLOAD = 100_000
"""Minimum payload in bytes: less cannot be told from other traffic of a NIC (ARP, the guest's
agent, SSH)."""
LEAST_SHARE = 0.95
"""Share of the payload that the NIC which the result is about must have counted."""
_LEAST_OF_REQUEST = 2
"""Minimum bytes of payload of a request with its answer, whose size the engine does not report."""
_SHOWN_SHARE = 0.05
_SHOWN = 4

_SECOND_LOOK = (
    COUNTERS
    + r"""
part link; ip -o -d link show dev "$3" 2>/dev/null
part related
for way in lower upper; do
    those=$3
    for depth in 1 2 3; do
        next=
        for one in $those; do
            for link in "/sys/class/net/$one/${way}_"*; do
                [ -e "$link" ] && next="$next ${link##*/"${way}_"}"
            done
        done
        echo $next
        those=$next
    done
done
part ways
case $1,$2 in
    peer,*:*) ip -6 -o route show table all to match "$2" ;;
    peer,*) ip -4 -o route show table all to match "$2" ;;
esac 2>/dev/null | head -n 64
"""
)
_HELD_ONLY = re.compile(r"link/loopback\b| dummy\b")


class LaggedReading(NamedTuple):
    """``beside``: NICs on the same way as the one that the result is about. ``held_only``: that one
    only holds the address and carries nothing."""

    reading: NicReading
    beside: frozenset[str]
    held_only: bool


class PathFinding(NamedTuple):
    """``nics``: the NIC that the result is about, followed by those that carried the payload
    instead. ``unchecked``: why nothing can be said; empty: it was checked, or there was too little
    payload for a check."""

    nics: tuple[NicBytes, ...] = ()
    unchecked: str = ""


def payload_of(measured: Measured) -> float | None:
    """Minimum bytes of payload that a run carried; None: its engine does not report it."""
    if measured.bytes is not None:
        return measured.bytes
    return None if measured.transactions is None else measured.transactions * _LEAST_OF_REQUEST


def check_path(
    end: End, before: NicReading | None, after: NicReading | None, payload: float | None,
    read_lagged: Callable[[str], LaggedReading | None],
) -> PathFinding:  # fmt: skip
    """Check one end, between two readings. ``read_lagged`` is called with the name of the NIC if
    that counted too little; it returns None if it could not read."""
    if before is None or after is None:
        return PathFinding(unchecked="the counters of its NICs cannot be read")
    named = before.subject_nic
    if named is None:
        return PathFinding(unchecked=_NO_NIC[end])
    counted = counted_between(before, after)
    if named not in counted:
        return PathFinding(unchecked=f"{named} did not exist the whole time")
    own = NicBytes(end, named, counted[named])
    if payload is None or payload < LEAST_PAYLOAD or own.bytes >= LEAST_SHARE * payload:
        return PathFinding((own,))
    look = read_lagged(named)
    if look is None:
        return PathFinding((own,), "the counters of its NICs cannot be read")
    return _finding(own, counted_between(before, look.reading), look, payload)


_NO_NIC: Mapping[End, str] = {
    "target": "the address is not on exactly one NIC there",
    "peer": "its route to the target is unknown",
}


def _finding(
    own: NicBytes, counted: Mapping[str, int], look: LaggedReading, payload: float
) -> PathFinding:
    way = {own.nic, *look.beside}
    own = NicBytes(own.end, own.nic, sum(counted.get(name, 0) for name in way))
    missing = payload - own.bytes
    if own.bytes >= LEAST_SHARE * payload:
        return PathFinding((own,))
    if look.held_only:
        return PathFinding((own,), f"the address is on {own.nic}, which carries no traffic itself")
    others = sorted(
        (NicBytes(own.end, name, count, is_subject=False)
         for name, count in counted.items()
         if name not in way and count >= _SHOWN_SHARE * payload),
        key=lambda nic: -nic.bytes,
    )[:_SHOWN]  # fmt: skip
    if not others or others[0].bytes < missing / 2:
        return PathFinding((own,), "no NIC there counted as many bytes as the payload")
    return PathFinding((own, *others))


def read_lagged(endpoint: Endpoint, end: End, address: str, named: str) -> LaggedReading | None:
    """Read the counters once more, when slow drivers have caught up, and the devices that the NIC
    is stacked on; None if they cannot be read."""
    time.sleep(LAG_SECONDS)
    try:
        with readable("what was printed"):
            return parse_lagged(ask(endpoint, _SECOND_LOOK, end, address, named), named)
    except (EndpointError, MeasureError):
        return None


def parse_lagged(sections: Sequence[Section], named: str) -> LaggedReading | None:
    """Parse the output of the script; None if there are no counters."""
    reading = nic_reading(sections)
    if reading is None:
        return None
    beside = set(text_of(sections, "related").split())
    ways = set(_next_hops(text_of(sections, "ways")))
    if named in ways:
        beside |= ways
    held_only = _HELD_ONLY.search(text_of(sections, "link")) is not None
    return LaggedReading(reading, frozenset(beside - {named}), held_only)


def _next_hops(routes: str) -> Iterator[str]:
    """Devices of the next hops in the output of ``ip -o route``, which separates them by
    backslashes."""
    for part in routes.replace("\n", "\\").split("\\"):
        words = part.split()
        if "nexthop" in words and "dev" in words[:-1]:
            yield words[words.index("dev") + 1]
