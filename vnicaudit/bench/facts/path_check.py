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
from vnicaudit.bench.facts.end_reading import (
    COUNTERS,
    LAG_SECONDS,
    NicReading,
    counted_between,
    may_have_wrapped,
    nic_reading,
)
from vnicaudit.bench.facts.sections import Section, ask, text_of
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import End, NicBytes

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
    if may_have_wrapped(after, payload):
        return PathFinding((own,), "its counters may have wrapped around")
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
