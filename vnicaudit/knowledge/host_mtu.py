"""MTUs on the way of guests' frames: links that are too narrow, and the room that tunnels need in
the packets of their underlay.

Sources: a bridge drops a frame that is larger than the MTU of the port by which it leaves
(net/bridge/br_forward.c of Linux, ``br_dev_queue_push_xmit``), Open vSwitch as well
(net/openvswitch/vport.c, ``ovs_vport_send``); a bridge's own MTU is that of the host's packets.
Which of its ports a frame takes on Open vSwitch depends on its flows: there a port is too narrow if
all others are as well.

VXLAN adds 50 bytes over IPv4 (RFC 7348: inner Ethernet 14, VXLAN 8, UDP 8, IP 20), Geneve as many
without options (RFC 8926); OVN's Geneve has an option of 8 bytes (ovn-architecture(7), *Tunnel
Encapsulations*), and names its ports ``ovn-…``. An IPv6 header has 20 bytes more. What GRE adds
depends on its flags, and is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vnicaudit.knowledge.host_links import Ways, is_host_port, is_on_ovs, leads_out, route_to
from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, NicOnHost, OvsPort

_ROOM = {"vxlan": 50, "geneve": 50}
_OVN = 8
_IPV6 = 20
_ANY = 1 << 32
"""An MTU for frames of any size."""


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
    for port in facts.ovs.ports or ():
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


def too_narrow_for(
    facts: HostFacts, link: HostLink, guests: Iterable[HostGuest]
) -> dict[str, int]:  # fmt: skip
    """Guest, with the tap of its NIC if the link is another one -> MTU of the NIC, for those of the
    guests behind a link whose frames of that size cannot take it."""
    mtu = link.mtu
    if mtu is None or is_host_port(facts, link.name):
        return {}
    larger = [
        (guest.name, nic, nic.mtu)
        for guest in guests
        for nic in guest.nics
        if nic.mtu is not None and nic.mtu > mtu and not _is_judged(facts, link, nic)
    ]
    own = {name: size for name, nic, size in larger if nic.device == link.name}
    if own or not larger:
        return own
    ways, most = Ways(facts), _widest_beside(facts, link)
    return {
        f"{name} ({nic.device})": size
        for name, nic, size in larger
        if link.name in ways.of(nic.device, through_tunnels=False) and (most is None or most < size)
    }


def _is_judged(facts: HostFacts, link: HostLink, nic: NicOnHost) -> bool:
    """True if this link is judged with the NIC itself."""
    tap = facts.link(nic.device) if nic.is_path_judged else None
    return tap is not None and (
        link.name == tap.name or (leads_out(link) and link.master == tap.master)
    )


def _widest_beside(facts: HostFacts, link: HostLink) -> int | None:
    """The largest MTU with which frames may leave Open vSwitch instead of by this link of it;
    None: it is no port there."""
    if not is_on_ovs(facts, link):
        return None
    if any(True for _each in ovs_tunnels(facts)):
        return _ANY
    return max((other.mtu or _ANY for other in ovs_uplinks(facts)), default=0)
