"""Read a guest's settings on an interface, and refuse those that could not be restored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import GuestAddress, GuestNetwork, GuestRoute
from vnicaudit.remedy.guest.agent import BATCH, Device, batch, read_neighbours
from vnicaudit.remedy.guest.links import (
    Guest,
    Info,
    Link,
    ask,
    check_alone,
    decoded,
    excerpt,
    guest_address,
    link_of,
    made_by_kernel,
    name,
    read_addresses,
    read_links,
    settings,
)
from vnicaudit.remedy.guest.routes import guest_routes, locked, read_routes

# Settings of a guest's interface that are not restored: refused, or reported.


_BY_ITSELF = "0:"
"""The handle of a queueing discipline that the kernel chose; one that a user set has another,
whether the user gave a handle or not (net/sched/sch_api.c, qdisc_create)."""


class _Discipline(msgspec.Struct, frozen=True):
    kind: str = ""
    handle: str = _BY_ITSELF


class _InterfaceSettings(msgspec.Struct, frozen=True):
    family: str = ""
    interface: str = ""
    forwarding: bool | None = None
    rp_filter: str | None = None
    proxy_neigh: bool | None = None
    ignore_routes_with_linkdown: bool | None = None

    def differing(self, default: _InterfaceSettings) -> Iterator[str]:
        """The names of the settings that a new interface would not have."""
        for field in ("forwarding", "rp_filter", "proxy_neigh", "ignore_routes_with_linkdown"):
            if getattr(self, field) != getattr(default, field):
                yield f"{field} ({'IPv6' if self.family == 'inet6' else 'IPv4'})"


def check_disciplines(guest: Guest, device: str) -> Iterator[str]:
    """Raises RefusedError if traffic control (``tc``) was set on the interface; returns a note if
    the guest cannot report it."""
    try:
        found = ask(guest, ("tc", "-j", "qdisc", "show", "dev", name(device)), _Discipline)
    except (GuestError, RefusedError):
        yield f"The guest has no tc, so it is unknown whether traffic control is set on {device}."
        return
    for one in found:
        if one.handle != _BY_ITSELF:
            raise RefusedError(
                f"traffic control ({excerpt(one.kind)}) was set on {excerpt(device)} in the guest "
                "with tc, and would be lost"
            )


def kernel_settings(guest: Guest, device: str) -> Iterator[str]:
    """The settings below /proc/sys/net that differ from those of a new interface, as far as ``ip
    netconf`` shows them."""
    try:
        found = ask(guest, ("ip", "-j", "netconf"), _InterfaceSettings)
    except RefusedError:
        return
    defaults = {one.family: one for one in found if one.interface == "default"}
    own = [one for one in found if one.interface == device and one.family in defaults]
    differing = [word for one in own for word in one.differing(defaults[one.family])]
    if differing:
        yield f"Set on {device} with sysctl, and not restored: {', '.join(differing)}."


def routers_routes_stay(guest: Guest, device: str) -> bool:
    """True if a program of the guest, and not the kernel, makes the routes that routers advertise.
    The kernel leaves a program's routes alone; a restored copy of one of the kernel's own would
    keep it from reading the next advertisement to its end (net/ipv6/ndisc.c,
    ndisc_router_discovery)."""
    path = f"/proc/sys/net/ipv6/conf/{name(device)}/accept_ra"
    ran = guest.execute(("cat", path))
    return ran.code == 0 and ran.stdout.strip() == b"0"


_ENTRIES_MAX = 4096


def captured(guest: Guest, mac: str) -> GuestNetwork:
    """The network settings of the interface with that MAC address. Raises RefusedError; GuestError
    if the guest's agent does not answer."""
    link = _interface(guest, mac)
    device = name(link.ifname)
    notes = [*check_disciplines(guest, device), *kernel_settings(guest, device), *_alias(link)]
    infos = read_addresses(guest, device)
    addresses, dropped = _addresses(infos, mac, link)
    inet6 = link.inet6_addr_gen_mode is not None or any(info.family == "inet6" for info in infos)
    routes, left = _routes(guest, device, addresses, inet6=inet6)
    network = GuestNetwork(
        mac=mac,
        name=device,
        index=link.ifindex,
        link=settings(link),
        addresses=addresses,
        routes=routes,
        neighbours=tuple(read_neighbours(guest, device)),
        ruled=ruled(guest, device),
        notes=(*notes, *dropped, *left),
    )
    entries = len(network.addresses) + len(network.routes) + len(network.neighbours)
    if entries > _ENTRIES_MAX:
        raise RefusedError(
            f"{device} has too many addresses, routes and neighbours in the guest ({entries})"
        )
    batch(network, Device(device, device))  # to find what cannot be restored before it is lost
    _check_allowed(guest, network)
    return network


def _check_allowed(guest: Guest, network: GuestNetwork) -> None:
    """Set the interface's MTU to the value that it has: this changes nothing, but shows that the
    agent is allowed to configure it (SELinux may let it only read) and passes input to programs."""
    lines = f"link set dev {network.name} mtu {network.link.mtu}\nlink show dev {network.name}\n"
    ran = guest.execute(BATCH, lines.encode("ascii"))
    if ran.code or network.name.encode() not in ran.stdout:
        said = excerpt(ran.stderr)
        raise RefusedError(f"the guest's agent may not configure {network.name} (ip: {said})")


def _interface(guest: Guest, mac: str) -> Link:
    links = read_links(guest)
    link = link_of(links, mac)
    if link is None:
        raise RefusedError(
            f"no interface of the guest has the MAC address {mac} (interfaces in other network "
            "namespaces are not visible)"
        )
    check_alone(link, links, mac)
    return link


def _alias(link: Link) -> list[str]:
    return [f"The description of {link.ifname} (ifalias) is not restored."] if link.ifalias else []


def _addresses(
    infos: Iterable[Info], mac: str, link: Link
) -> tuple[tuple[GuestAddress, ...], list[str]]:
    """The addresses to restore, and a note on each that another machine uses."""
    own = [info for info in infos if not made_by_kernel(info, mac, link.inet6_addr_gen_mode)]
    notes = [
        f"Address {excerpt(info.local or '?')} is not restored: another machine has it."
        for info in own
        if info.dadfailed
    ]
    return tuple(guest_address(info, link.ifname) for info in own if not info.dadfailed), notes


def _routes(
    guest: Guest, device: str, addresses: tuple[GuestAddress, ...], *, inet6: bool
) -> tuple[tuple[GuestRoute, ...], list[str]]:
    """The routes of both families, and a note on those that are left to the routers."""
    found = guest_routes(read_routes(guest, inet6=False), device, addresses, inet6=False)
    if inet6:
        found += guest_routes(read_routes(guest, inet6=True), device, addresses, inet6=True)
    for family in {route.inet6 for route in found if route.metrics}:
        _check_locks(guest, device, inet6=family)
    advertised = [route for route in found if _advertised(route)]
    if not advertised or routers_routes_stay(guest, device):
        return tuple(found), []
    note = "IPv6 routes that a router advertised come back with its next advertisement."
    return tuple(route for route in found if not _advertised(route)), [note]


def _advertised(route: GuestRoute) -> bool:
    kernels = route.protocol == "kernel" and route.expires is not None
    return route.inet6 and (route.protocol == "ra" or kernels)


def _check_locks(guest: Guest, device: str, *, inet6: bool) -> None:
    ran = guest.execute(("ip", "-6" if inet6 else "-4", "route", "show", "table", "all"))
    if ran.code or locked(ran.stdout, device):
        raise RefusedError(
            f"a metric of a route through {device} is, or may be, locked in the guest"
        )


class _Rule(msgspec.Struct, frozen=True):
    iif: str | None = None
    oif: str | None = None


def ruled(guest: Guest, device: str) -> bool:
    """True if a routing rule of either family names the interface. Such a rule stays when the
    interface goes, and applies again when there is one of that name (measured with Linux 6.18;
    net/core/fib_rules.c, attach_rules): only the name has to be restored for it. Raises
    RefusedError if the guest cannot report its rules."""
    return any(
        device in (rule.iif, rule.oif) for family in ("-4", "-6") for rule in _rules(guest, family)
    )


def _rules(guest: Guest, family: str) -> list[_Rule]:
    command = ("ip", "-j", family, "rule", "show")
    ran = guest.execute(command)
    if ran.code and b"not supported" in ran.stderr:
        return []  # a kernel without that family, or without rules
    if ran.code:
        raise RefusedError(f"{' '.join(command)} failed in the guest ({excerpt(ran.stderr)})")
    return decoded(ran.stdout, " ".join(command), _Rule)
