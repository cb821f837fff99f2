"""The destination of packets, determined before anything is sent, so that nobody else gets them.

pktgen writes complete frames, bypassing routes, neighbours and firewalls. So its destination is an
address of the receiving end, on a link of the sender without a router in between, at the MAC of the
very NIC that has this address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, Ends
from vnicaudit.bench.facts.sections import Section, ask, text_of
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Direction

_SENDER = r"""
way=$(ip -4 -o route get "$1" 2>/dev/null)
device=$(printf '%s\n' "$way" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
part route; printf '%s\n' "$way"
ping -c 1 -W 2 "$1" >/dev/null 2>&1
part neighbour; ip -4 -o neigh show to "$1" dev "$device" 2>/dev/null
part mtu; cat "/sys/class/net/$device/mtu" 2>/dev/null
"""
"""``$1``: the receiver's address. The echo request makes the neighbour known."""
_RECEIVER = r"""
device=$(ip -4 -o addr show to "$1" | sed 's/^[0-9]*: *\([^ ]*\) .*/\1/' | sort -u)
part nic; printf '%s\n' "$device"
part mac; cat "/sys/class/net/$device/address" 2>/dev/null
"""
_READY = r"""
modprobe -q pktgen >/dev/null 2>&1
part user; id -u
part control; head -n 1 /proc/net/pktgen/pgctrl 2>/dev/null
part threads; cat /proc/net/pktgen/kpktgend_* 2>/dev/null
"""
_COUNT = r"""
part count; cat "/sys/class/net/$1/statistics/rx_packets"
"""

_ROUTE = re.compile(r"(?P<to>[0-9.]{7,15}) dev (?P<device>[^\s/]{1,15}) ")
_SOURCE = re.compile(r"\bsrc (?P<source>[0-9.]{7,15})(?![^\s])")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_LINK = re.compile(rf"lladdr ({_MAC.pattern})\b")
_NIC = re.compile(r"[^\s/]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,20}")
_BUSY = re.compile(r"(?:Running|Stopped): *\S")


class Wire(NamedTuple):
    """``device``, ``source``: the sender's NIC and address. ``address``, ``mac``, ``nic``: the
    receiver's. ``mtu``: of the sender's NIC, in bytes."""

    sender: Endpoint
    receiver: Endpoint
    device: str
    source: str
    address: str
    mac: str
    nic: str
    mtu: int


def sender_of(ends: Ends, direction: Direction) -> Endpoint:
    """The end that sends; the direction is seen from the target."""
    return ends.target if direction == "tx" else ends.peer


def wire(ends: Ends, direction: Direction) -> Wire:
    """The sender and destination of the packets. Raises MeasureError unless it is certain that only
    the receiving end gets them."""
    address = _ipv4(ends.address)
    if direction == "tx":
        sender, receiver = ends.target, ends.peer
        address = _route(ask(ends.peer, _SENDER, address), address)["source"]
    else:
        sender, receiver = ends.peer, ends.target
    sent, received = ask(sender, _SENDER, address), ask(receiver, _RECEIVER, address)
    route = _route(sent, address)
    nic, mac = _one_line(received, "nic"), _one_line(received, "mac")
    if _NIC.fullmatch(nic) is None or _MAC.fullmatch(mac) is None:
        raise MeasureError(
            f"{receiver.url} does not have exactly one NIC with the address {address}"
        )
    if (seen := _LINK.search(text_of(sent, "neighbour"))) is None or seen[1] != mac:
        raise MeasureError(
            f"{sender.url} reaches {address} at {seen[1] if seen else 'no MAC that it knows'}, and "
            f"{nic}, which has that address, is {mac}: pktgen sends nothing to anybody else"
        )
    mtu = _one_line(sent, "mtu")
    if _NUMBER.fullmatch(mtu) is None:
        raise MeasureError(f"the MTU of {route['device']} at {sender.url} cannot be read")
    return Wire(sender, receiver, route["device"], route["source"], address, mac, nic, int(mtu))


def require_ready(sender: Endpoint, threads: int) -> None:
    """Raises EndpointError if pktgen cannot be used at that end with that many threads, or somebody
    else uses it."""
    found = ask(sender, _READY)
    if _one_line(found, "user") != "0":
        raise EndpointError(f"{sender.url}: pktgen needs root")
    if not text_of(found, "control").strip():
        raise EndpointError(
            f"{sender.url}: its kernel has no pktgen (`modprobe pktgen` failed): use iperf3 with "
            "the pattern udp-pps there"
        )
    if (most := text_of(found, "threads").count("Running: ")) < threads:
        raise EndpointError(
            f"{sender.url}: pktgen has a thread for each CPU, and there are {most}, not {threads}"
        )
    if _BUSY.search(text_of(found, "threads")):
        raise EndpointError(
            f"{sender.url}: pktgen is already in use there (/proc/net/pktgen/kpktgend_0 names a "
            "NIC), and those NICs would be started too: remove them (rem_device_all)"
        )


def received_packets(wire: Wire) -> int:
    """Packets that the receiving NIC has counted so far. Raises MeasureError if it has no such
    counter."""
    text = _one_line(ask(wire.receiver, _COUNT, wire.nic), "count")
    if _NUMBER.fullmatch(text) is None:
        raise MeasureError(f"{wire.nic} of {wire.receiver.url} has no packet counter")
    return int(text)


def _ipv4(address: str) -> str:
    try:
        return str(IPv4Address(address))
    except ValueError:
        raise MeasureError(f"pktgen is for IPv4 here, and the target is at {address}") from None


def _route(sections: Sequence[Section], address: str) -> dict[str, str]:
    """The route in the output of ``ip -o route get``: one without a router (via), and not local."""
    said = _one_line(sections, "route")
    found, source = _ROUTE.match(said), _SOURCE.search(said)
    if found is None or source is None or found["to"] != address:
        raise MeasureError(
            f"{address} is not on the same link as the other end (its route: {said[:80]})"
        )
    return {**found.groupdict(), **source.groupdict()}


def _one_line(sections: Sequence[Section], name: str) -> str:
    return text_of(sections, name).strip()
