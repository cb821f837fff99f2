"""Tunnels that carry guests' frames, and the room that they need in the packets of their underlay.

Sources: VXLAN adds 50 bytes over IPv4 (RFC 7348: inner Ethernet 14, VXLAN 8, UDP 8, IP 20), Geneve
as many without options (RFC 8926); OVN's Geneve has an option of 8 bytes (ovn-architecture(7),
*Tunnel Encapsulations*), and names its ports ``ovn-…``. An IPv6 header has 20 bytes more. What GRE
adds depends on its flags, and is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.knowledge.host_links import is_on_ovs, leads_out, route_to
from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, OvsPort

_ROOM = {"vxlan": 50, "geneve": 50}
_OVN = 8
_IPV6 = 20


class Underlay(NamedTuple):
    """The way of a tunnel's packets: device and MTU."""

    device: str
    mtu: int


def room(kind: str, remote: str, *, of_ovn: bool = False) -> int | None:
    """Bytes that a kind of tunnel adds to a packet of a guest; None: not known."""
    basis = _ROOM.get(kind)
    return None if basis is None else basis + _OVN * of_ovn + _IPV6 * (":" in remote)


def largest_packets(facts: HostFacts, guests: tuple[HostGuest, ...]) -> int | None:
    """The largest MTU of these guests' NICs: their own, else that of the tap; None: not known."""
    sizes = [
        nic.mtu or (link.mtu if (link := facts.link(nic.device)) is not None else None)
        for guest in guests
        for nic in guest.nics
    ]
    return max((size for size in sizes if size is not None), default=None)


def ovs_tunnels(facts: HostFacts) -> Iterator[tuple[OvsPort, Underlay | None]]:
    """Open vSwitch's ports of VXLAN and Geneve, and the way of their packets; None: not known."""
    for port in (facts.ovs and facts.ovs.ports) or ():
        if port.type in _ROOM:
            route = route_to(facts.routes or (), port.options.get("remote_ip", ""))
            link = None if route is None else facts.link(route.device)
            mtu = (route and route.mtu) or (link and link.mtu)
            yield port, Underlay(link.name, mtu) if link is not None and mtu else None


def ovs_guests(facts: HostFacts, guests: tuple[HostGuest, ...]) -> tuple[HostGuest, ...]:
    """Guests with a tap in Open vSwitch."""

    def is_in(guest: HostGuest) -> bool:
        links = (facts.link(nic.device) for nic in guest.nics)
        return any(link is not None and is_on_ovs(facts, link) for link in links)

    return tuple(filter(is_in, guests))


def ovs_uplinks(facts: HostFacts) -> tuple[HostLink, ...]:
    """Links by which frames leave Open vSwitch without a tunnel."""
    return tuple(
        link
        for link in facts.links or ()
        if leads_out(link) and is_on_ovs(facts, link)
    )  # fmt: skip
