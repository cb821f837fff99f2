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

from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, HostRoute, OvsPort

GUEST_KINDS = frozenset({"tun", "macvtap", "ipvtap"})
"""Kinds of links that a QEMU opens itself."""
_MOST_REMOTES = 1024
_OVER_LINKS = frozenset({
    "", "bridge", "bond", "team", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "veth",
    "openvswitch", "dummy",
})  # fmt: skip
"""Kinds of links of which the links below are known; those of a VPN are not."""
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
    port = facts.ovs_ports.get(device)
    return port is not None and port.type == "internal"


def is_on_ovs(facts: HostFacts, link: HostLink) -> bool:
    """True for a port of Open vSwitch."""
    master = facts.link(link.master)
    of_kernel = master is not None and master.kind == "openvswitch"
    return link.master == "ovs-system" or of_kernel or link.name in facts.ovs_ports


def switch_of(facts: HostFacts, link: HostLink) -> str | None:
    """The bridge that a link, or the bond it is part of, is a port of; None: none."""
    seen: set[str] = set()
    now: HostLink | None = link
    while now is not None and now.name not in seen:
        seen.add(now.name)
        port = facts.ovs_ports.get(now.name)
        master = facts.link(now.master)
        if port is not None and port.bridge is not None:
            return port.bridge
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


def may_manage(facts: HostFacts, device: str) -> bool:
    """True if the connection to whoever changes this host may take that device, or one that is
    connected with it: a bridge and its ports, a bond and its members, VLANs and the link below.
    ``device`` empty: a setting of the host itself. True as well where nobody knows."""
    links = {link.name: link for link in facts.links or ()}
    if facts.managed_by is None:
        return True
    connected: dict[str, list[str]] = {}
    for link in links.values():
        of_tunnel = link.tunnel.device if link.tunnel else None
        datapath = "ovs-system" if link.kind == "openvswitch" else None
        for other in filter(None, (link.master, link.lower, of_tunnel, datapath)):
            connected.setdefault(link.name, []).append(other)
            connected.setdefault(other, []).append(link.name)
    reached: set[str] = set()
    pending = list(facts.managed_by)
    if any(name not in links or links[name].kind not in _OVER_LINKS for name in pending):
        return True
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += connected.get(name, ())
    return device in reached or (not device and bool(reached))


def carried_by(
    facts: HostFacts, guests: Iterable[HostGuest], *, through_tunnels: bool = True
) -> dict[str, tuple[str, ...]]:
    """Link -> names of the guests whose frames take it, in order. A guest whose tap is not there
    is on none of them. ``through_tunnels`` False: without links that take a frame only as part of a
    tunnel's packet."""
    ways = Ways(facts)
    carried: dict[str, dict[str, None]] = {}
    for guest in guests:
        for nic in guest.nics:
            for name in ways.of(nic.device, through_tunnels=through_tunnels):
                carried.setdefault(name, {})[guest.name] = None
    return {name: tuple(names) for name, names in carried.items()}


class Ways:
    """The links of one host, and by which of them a frame goes on from each."""

    def __init__(self, facts: HostFacts) -> None:
        self._links = {link.name: link for link in facts.links or ()}
        self._routes = facts.routes or ()
        self._ports: dict[str, list[OvsPort]] = {}
        """Bridge of Open vSwitch -> its ports."""
        self._bridges: dict[str, str] = {}
        """Port of Open vSwitch -> its bridge."""
        for port in facts.ovs.ports or ():
            if port.bridge:
                self._ports.setdefault(port.bridge, []).append(port)
                self._bridges[port.name] = port.bridge
        self._onward: dict[str, list[str]] = {}
        """Bridge, bond -> those of its ports by which frames may go on."""
        for link in self._links.values():
            if link.master and not is_tap(link) and not _leads_nowhere(link):
                self._onward.setdefault(link.master, []).append(link.name)
        self._left: dict[str, tuple[list[str], list[str]]] = {}

    def of(self, device: str | None, *, through_tunnels: bool = True) -> tuple[str, ...]:
        """The links that frames of a tap may take, itself first; empty if there is no such link."""
        way: dict[str, None] = {}
        pending = [device]
        while pending:
            name = pending.pop(0)
            link = self._links.get(name or "")
            if link is not None and link.name not in way:
                way[link.name] = None
                onward, tunnelled = self._next(link)
                pending += [*onward, *(tunnelled if through_tunnels else ())]
        return tuple(way)

    def _next(self, link: HostLink) -> tuple[list[str | None], list[str]]:
        """The links by which a frame on this link may go on: as it is, and within a tunnel."""
        onward = [name for name in (link.master, link.lower) if name != "ovs-system"]
        tunnelled = [link.tunnel.device] if link.tunnel and link.tunnel.device else []
        if link.kind in ("bridge", "bond", "team"):
            onward += self._onward.get(link.name, ())
        bridge = link.name if link.name in self._ports else self._bridges.get(link.name)
        if bridge is not None:
            if bridge not in self._left:
                self._left[bridge] = self._leave(bridge)
            onward += self._left[bridge][0]
            tunnelled += self._left[bridge][1]
        return onward, tunnelled

    def _leave(self, bridge: str) -> tuple[list[str], list[str]]:
        """The links by which frames may leave a bridge of Open vSwitch and those that it is patched
        to; and the links by which its tunnels leave."""
        reached: dict[str, None] = {}
        pending = [bridge]
        while pending:
            name = pending.pop()
            if name in reached:
                continue
            reached[name] = None
            peers = [port.options.get("peer", "") for port in self._ports.get(name, ())]
            pending += [self._bridges[peer] for peer in peers if peer in self._bridges]
        ports = [port for name in reached for port in self._ports.get(name, ())]
        links = [(self._links.get(port.name), port) for port in ports]
        onward = [
            link.name
            for link, port in links
            if link is not None
            and (leads_out(link) or link.tunnel is not None or port.type == "internal")
        ]
        remotes = {remote: None for port in ports if (remote := port.options.get("remote_ip"))}
        routes = (route_to(self._routes, remote) for remote in list(remotes)[:_MOST_REMOTES])
        return onward, list(dict.fromkeys(route.device for route in routes if route is not None))


def _leads_nowhere(port: HostLink) -> bool:
    """True for a port that ends here; of a pair (veth) whose other half is here, frames go on."""
    return port.kind in _INNER and not (port.kind == "veth" and port.lower)
