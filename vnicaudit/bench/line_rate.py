"""The theoretical maximum of a line: payload per second, and packets per second.

Ethernet adds to each frame a preamble (7 octets), a start delimiter (1), a header (14) and a check
sequence (4), IEEE 802.3 clause 3.1.1, and a gap of 96 bit times (12), clause 4.4.2: 38 octets. A
VLAN tag adds 4 (IEEE 802.1Q clause 9.3). IPv4 has 20 octets (RFC 791), IPv6 40 (RFC 8200), TCP 20
(RFC 9293), its timestamps 12 with their padding (RFC 7323 appendix A), UDP 8 (RFC 768).

A tunnel carries the guest's whole frame without its check sequence (14 octets of inner header) in
an outer packet: IPv4 20 or IPv6 40, then VXLAN 8 in UDP 8 (RFC 7348), Geneve 8 in UDP 8 (RFC 8926),
or GRE 8 with a key (RFC 2784 and 2890). Together 50, 50 and 42 over IPv4, as in Neutron
(neutron_lib/constants.py: VXLAN_ENCAP_OVERHEAD 30, GENEVE_ENCAP_MIN_OVERHEAD 30, GRE_ENCAP_OVERHEAD
22, each plus the IP header). Geneve's options are not counted; OVN's take 8 octets more.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from vnicaudit.errors import UsageError

IpVersion = Literal[4, 6]
Encapsulation = Literal["none", "vlan", "vxlan", "geneve", "gre"]

FRAMING = 38
"""Octets of a frame on the line in addition to its payload."""

_PREAMBLE_AND_GAP = 20
_SMALLEST_FRAME = 64
_IP = {4: 20, 6: 40}
_TCP, _TIMESTAMPS, _UDP = 20, 12, 8
_FRAGMENT_HEADER = {4: 0, 6: 8}
_IN_TUNNEL = {"vxlan": 14 + 8 + 8, "geneve": 14 + 8 + 8, "gre": 14 + 8}
_LEAST_MTU, _MOST_MTU = 576, 65535

ENCAPSULATIONS = get_args(Encapsulation)
FRAME_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""The frame sizes of RFC 2544 (9.1); octets, header and check sequence included."""

_LEAST_PLAIN = 1e6
_RATE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kKmMgGtT]?)(?:(?:bits?|b)(?:/s|ps)?)?", re.ASCII)
_POWERS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


class Framing(msgspec.Struct, frozen=True, kw_only=True):
    """How packets travel. ``mtu``: of the interface that sends them, so inside the tunnel, which
    is over IPv4."""

    mtu: int = 1500
    encapsulation: str = "none"
    ip: IpVersion = 4


class PacketRate(msgspec.Struct, frozen=True):
    """``frame``: octets, header and check sequence included; ``rate``: packets per second."""

    frame: int
    rate: float


LINE_RATE_SCHEMA: Literal["vnicaudit.line-rate/1"] = "vnicaudit.line-rate/1"


class LineRate(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.line-rate/1``: the theoretical maximum of a link; rates in bit/s."""

    schema: Literal["vnicaudit.line-rate/1"] = LINE_RATE_SCHEMA
    speed: float
    framing: Framing
    overhead: int
    """Octets on the line in addition to each packet."""
    tcp_payload: int
    """Octets of data in a full TCP segment."""
    tcp: float
    udp: float
    packet_rates: tuple[PacketRate, ...]
    goodput: float | None = None
    """A measured throughput, to be compared with these."""


def parse_rate(text: str) -> float:
    """``25G``, ``100M``, ``2.5G``, ``10 Gbit/s`` in bit/s. Raises UsageError for anything else: for
    bytes (``B``), and for a plain ``25`` or ``25000``, which is hardly meant as bit/s."""
    found = _RATE.fullmatch(text.strip())
    rate = float(found[1]) * _POWERS[found[2].lower()] if found else 0.0
    if found is None or not rate or (not found[2] and rate < _LEAST_PLAIN):
        raise UsageError(f"{text[:40]!r} is not a speed: write it as 25G, 100M or 2.5G")
    return rate


def line_rate(speed: float, framing: Framing, goodput: float | None = None) -> LineRate:
    """Calculate the line rate; packet rates for the frames of RFC 2544 that exist on this link, and
    the largest. Raises UsageError for an impossible MTU or an unknown encapsulation."""
    framing = _checked(framing)
    around = _overhead(framing) - _PREAMBLE_AND_GAP
    least, most = around + _IP[framing.ip], around + framing.mtu
    frames = sorted({*(frame for frame in FRAME_SIZES if least <= frame <= most), most})
    return LineRate(
        speed=speed,
        framing=framing,
        overhead=_overhead(framing),
        tcp_payload=_tcp_payload(framing),
        tcp=speed * tcp_fraction(framing),
        udp=speed * udp_fraction(framing),
        packet_rates=tuple(PacketRate(frame, packet_rate(speed, frame)) for frame in frames),
        goodput=goodput,
    )


def tcp_fraction(framing: Framing) -> float:
    """Data in full TCP segments, as a share of the octets on the line."""
    return _tcp_payload(framing) / (framing.mtu + _overhead(framing))


def udp_fraction(framing: Framing, size: int | None = None) -> float:
    """Data in UDP datagrams of ``size`` octets (None: the largest that fit into one packet), as a
    share of the octets on the line. Larger ones are sent in fragments, each with an IP header of
    its own."""
    size = framing.mtu - _IP[framing.ip] - _UDP if size is None else size
    left, room, line = size + _UDP, framing.mtu - _IP[framing.ip], 0
    extra = 0  # header of a fragment
    if left > room:
        extra = _FRAGMENT_HEADER[framing.ip]
        room = (room - extra) // 8 * 8  # fragments end at multiples of 8 octets (RFC 791, 8200)
    while left > 0:
        line += _on_line(min(left, room) + extra + _IP[framing.ip], framing)
        left -= room
    return size / line


def packet_rate(speed: float, frame: int) -> float:
    """Packets per second of frames of this size (octets, header and check sequence included), at
    least 64."""
    return speed / ((max(frame, _SMALLEST_FRAME) + _PREAMBLE_AND_GAP) * 8)


def udp_packet_rate(speed: float, framing: Framing, size: int) -> float | None:
    """Datagrams per second with ``size`` octets of data; None if they need fragments."""
    packet = size + _UDP + _IP[framing.ip]
    return None if packet > framing.mtu else speed / (8 * _on_line(packet, framing))


def _on_line(packet: int, framing: Framing) -> int:
    """Octets that an IP packet takes on the line. A frame is padded to 64 octets; the inner one of
    a tunnel need not be, as its outer one is larger anyway."""
    return max(packet + _overhead(framing), _SMALLEST_FRAME + _PREAMBLE_AND_GAP)


def _overhead(framing: Framing) -> int:
    if framing.encapsulation in _IN_TUNNEL:
        return FRAMING + _IN_TUNNEL[framing.encapsulation] + _IP[4]
    return FRAMING + (4 if framing.encapsulation == "vlan" else 0)


def _tcp_payload(framing: Framing) -> int:
    return framing.mtu - _IP[framing.ip] - _TCP - _TIMESTAMPS


def _checked(framing: Framing) -> Framing:
    if framing.encapsulation not in ENCAPSULATIONS:
        known = ", ".join(ENCAPSULATIONS)
        raise UsageError(f"unknown encapsulation {framing.encapsulation!r}; use {known}")
    least = 1280 if framing.ip == 6 else _LEAST_MTU  # RFC 8200 section 5
    if not least <= framing.mtu <= _MOST_MTU:
        raise UsageError(f"an MTU is {least} to {_MOST_MTU} octets, not {framing.mtu}")
    return framing
