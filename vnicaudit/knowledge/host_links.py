"""The way of a guest's frames over the links of its host: tap, bridge, bond, VLAN, adapter, tunnel.

Sources: a port's ``master`` is its bridge, bond or datapath (``ip link``); the ports of a Linux
bridge that are no taps lead out; a VLAN or macvtap sends by the link it was made of; a tunnel's
packets are sent by the link of the route to its remote. Open vSwitch's patch ports connect two
bridges (ovs-vswitchd.conf.db(5), *peer*).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, HostRoute

GUEST_KINDS = frozenset({"tun", "macvtap", "ipvtap"})
"""Kinds of links that a QEMU opens itself."""
_INNER = frozenset({"veth", "dummy", "ifb", "nlmon", "lo"})


def is_tap(link: HostLink) -> bool:
    """True for a link behind which a guest is."""
    return link.kind in GUEST_KINDS


def leads_out(link: HostLink) -> bool:
    """True for a link that leaves the host: an adapter, a bond of them, or a VLAN."""
    return link.physical is True or link.kind in ("bond", "team", "vlan")


def is_host_port(facts: HostFacts, device: str) -> bool:
    """True for a port by which the host itself uses a bridge: no guest is behind it."""
    link = facts.link(device)
    if link is not None and link.kind in ("bridge", "openvswitch"):
        return True
    ports = (facts.ovs and facts.ovs.ports) or ()
    return any(port.name == device and port.type == "internal" for port in ports)


def is_on_ovs(facts: HostFacts, link: HostLink) -> bool:
    """True for a port of Open vSwitch."""
    master = facts.link(link.master)
    of_kernel = master is not None and master.kind == "openvswitch"
    return link.master == "ovs-system" or of_kernel or link.name in _ovs_names(facts)


def switch_of(facts: HostFacts, link: HostLink) -> str | None:
    """The bridge that a link, or the bond it is part of, is a port of; None: none."""
    seen: set[str] = set()
    now: HostLink | None = link
    while now is not None and now.name not in seen:
        seen.add(now.name)
        ports = (facts.ovs and facts.ovs.ports) or ()
        bridge = next((port.bridge for port in ports if port.name == now.name), None)
        master = facts.link(now.master)
        if bridge is not None:
            return bridge
        if is_on_ovs(facts, now):
            return "Open vSwitch"
        if master is not None and master.kind == "bridge":
            return master.name
        now = master if master is not None and master.kind in ("bond", "team") else None
    return None


def route_to(routes: Iterable[HostRoute], address: str) -> HostRoute | None:
    """The most specific route to an address; None if there is none, or it is no address."""
    try:
        wanted = ip_address(address)
    except ValueError:
        return None
    networks = ((_network(route.network), route) for route in routes)
    found = [(network.prefixlen, route) for network, route in networks if wanted in network]
    return max(found, key=lambda each: each[0])[1] if found else None


@lru_cache(maxsize=1024)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def carried_by(facts: HostFacts, guests: Iterable[HostGuest]) -> dict[str, tuple[str, ...]]:
    """Link -> names of the guests whose frames take it, in order. A guest whose tap is not there
    is on none of them."""
    carried: dict[str, list[str]] = {}
    for guest in guests:
        for nic in guest.nics:
            for name in way_of(facts, nic.device):
                names = carried.setdefault(name, [])
                if guest.name not in names:
                    names.append(guest.name)
    return {name: tuple(names) for name, names in carried.items()}


def way_of(
    facts: HostFacts, device: str | None, *, through_tunnels: bool = True
) -> tuple[str, ...]:
    """The links that frames of a tap may take, itself first; empty if there is no such link.
    ``through_tunnels`` False: without those that take a frame as part of a tunnel's packet."""
    by_name = {link.name: link for link in facts.links or ()}
    way: list[str] = []
    pending = [device] if device in by_name else []
    while pending:
        name = pending.pop(0)
        if name is None or name in way or name not in by_name:
            continue
        way.append(name)
        pending += _next(by_name[name], facts, by_name)
        tunnel = by_name[name].tunnel
        if through_tunnels and tunnel is not None and tunnel.device:
            pending.append(tunnel.device)
    return tuple(way)


def _next(link: HostLink, facts: HostFacts, by_name: dict[str, HostLink]) -> list[str]:
    """The links by which a frame on this link may go on."""
    found = [link.master or "", link.lower or ""]
    if link.kind == "openvswitch" or link.name in _ovs_names(facts):
        found += _ovs_next(link.name, facts)
    elif link.kind in ("bridge", "bond", "team"):
        found += [
            port.name
            for port in by_name.values()
            if port.master == link.name and not is_tap(port) and not _leads_nowhere(port)
        ]
    return [name for name in found if name and name != "ovs-system"]


def _leads_nowhere(port: HostLink) -> bool:
    """True for a port that ends here; of a pair (veth) whose other half is here, frames go on."""
    return port.kind in _INNER and not (port.kind == "veth" and port.lower)


def _ovs_names(facts: HostFacts) -> frozenset[str]:
    ports = (facts.ovs and facts.ovs.ports) or ()
    return frozenset(port.name for port in ports)


def _ovs_next(name: str, facts: HostFacts) -> list[str]:
    """The ports by which frames may leave the bridge that has this port, and those that it is
    patched to."""
    ports = (facts.ovs and facts.ovs.ports) or ()
    bridges = [port.bridge for port in ports if port.name == name and port.bridge]
    reached: list[str] = []
    while bridges:
        bridge = bridges.pop(0)
        if bridge in reached:
            continue
        reached.append(bridge)
        peers = [
            port.options.get("peer") for port in ports
            if port.bridge == bridge and port.type == "patch"
        ]  # fmt: skip
        bridges += [port.bridge for port in ports if port.name in peers and port.bridge]
    return [
        port.name
        for port in ports
        if port.bridge in reached and (link := facts.link(port.name)) is not None
        and (leads_out(link) or link.tunnel is not None or port.type == "internal")
    ]  # fmt: skip
