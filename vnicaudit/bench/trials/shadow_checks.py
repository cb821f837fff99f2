"""Checks before a shadow NIC is plugged in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from ipaddress import IPv4Interface, ip_interface

import msgspec

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.profiles.options import EngineSetting, with_options
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.nic import Nic
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.words import excerpt

_TYPES = ("network", "bridge", "direct")
_KINDS = {
    "virtualport": (
        "it has a port profile (<virtualport>), and a second NIC would need its own port in the "
        "virtual switch"
    ),
    "teaming": "it is one half of a team (<teaming>)",
}
_SHORTEST = 30
_HELD = ("REACHABLE", "PERMANENT")
"""States of an address that a machine has just answered for; other states may be outdated."""


class _NeighbourEntry(msgspec.Struct, frozen=True):
    lladdr: str = ""
    state: tuple[str, ...] = ()


def temporary_address(text: str) -> IPv4Interface:
    """``192.0.2.9/24``. Raises UsageError for anything else."""
    try:
        found = ip_interface(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not an address with prefix length, such as 192.0.2.9/24"
        ) from None
    if not isinstance(found, IPv4Interface):
        raise UsageError(f"{text}: a shadow NIC is measured over IPv4 only")
    if found.network.prefixlen > _SHORTEST:
        raise UsageError(f"{text}: add the prefix length of its network, such as /24")
    if found.ip in (found.network.network_address, found.network.broadcast_address):
        raise UsageError(f"{text} is the address of a network, not of a machine in it")
    return found


def bound_to_address(profile: Profile) -> Profile:
    """Return the profile with iperf3's servers bound to the measured address: a server that answers
    UDP on all addresses answers from the one that the guest's routes prefer (tried with iperf3
    3.18: the client waits for ever)."""
    if not any(workload.engine == "iperf3" for workload in profile.workloads):
        return profile
    return with_options(profile, [EngineSetting("iperf3", "bind", "yes")])


def check_nic(runs: Nic | None, goal: Nic | None, children: Collection[str]) -> None:
    """Raises RefusedError if a second NIC like the one of the definition cannot be plugged in
    beside the running one. ``children``: tags of its child elements in the definition."""
    reasons = tuple(_against(runs, goal, children))
    if reasons:
        raise RefusedError("; ".join(reasons))


def _against(runs: Nic | None, goal: Nic | None, children: Collection[str]) -> Iterator[str]:
    if runs is None or goal is None:
        yield "the running guest has no such NIC"
        return
    for nic in (runs, goal):
        kind = nic.declared.actual_type or nic.declared.type
        if kind not in _TYPES:
            yield f"a second NIC of type {kind} would need its own device, socket or port"
            return
        if nic.declared.source_mode == "passthrough":
            yield "macvtap in mode passthrough takes one NIC"
            return
    if goal.declared.link_state == "down":
        yield "its link is down in the definition"
    yield from (text for child, text in _KINDS.items() if child in children)


def old_address(addresses: Iterable[str], wanted: IPv4Interface, mac: str) -> str:
    """The NIC's own address in the network of the temporary one. Raises RefusedError if it has none
    there, or has the temporary one itself."""
    own = [one for text in addresses if isinstance(one := ip_interface(text), IPv4Interface)]
    if wanted.ip in {one.ip for one in own}:
        raise RefusedError(f"{wanted.ip} is already an address of {mac}")
    inside = [one for one in own if one.network == wanted.network]
    if not inside:
        has = ", ".join(map(str, own)) or "no IPv4 address"
        raise RefusedError(f"{wanted} is not in a network of {mac}, which has {has}")
    return str(inside[0].ip)


def check_free(guest: Guest, peer: Endpoint, wanted: IPv4Interface) -> None:
    """Raises RefusedError if a machine has that address: one that answers ping, or only the guest's
    ARP. Raises GuestError, EndpointError if that cannot be checked."""
    address = str(wanted.ip)
    ping = ("ping", "-c", "1", "-W", "1", address)
    if guest.execute(ping).code == 0 or peer.run(ping, seconds=15).code == 0:
        raise RefusedError(f"{address} is in use: it answers ping")
    for one in ask(guest, ("ip", "-j", "-4", "neigh", "show", "to", address), _NeighbourEntry):
        if one.lladdr and set(one.state) & set(_HELD):
            raise RefusedError(f"{address} is in use: {excerpt(one.lladdr)} has it")
