"""Preserve a Linux guest's network settings while the device below them is exchanged.

The new device is a new interface to the guest, without addresses and routes. :func:`capture` reads
the settings of the old one, or refuses if some could not be restored; :func:`restore` sets them by
one ``ip -batch``, as each program that is run through the agent takes 50 to 100 ms; :func:`missing`
lists the settings that are not there. Settings that the guest's own programs (NetworkManager,
networkd) have made meanwhile are not made twice.

Settings that ``ip`` and ``tc`` do not show are not restored: those below /proc/sys/net (except for
the ones that are reported), multicast groups and raw sockets that programs hold on the interface,
its name servers (systemd-resolved), netfilter hooks and BPF programs (tcx) on it, and interfaces on
top of it in other network namespaces. Routing rules that name the interface stay when it goes, and
apply again once there is one of that name (measured with Linux 6.18; net/core/fib_rules.c,
attach_rules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import GuestAddress, GuestNetwork, GuestRoute
from vnicaudit.remedy.guest.agent import (
    BATCH,
    Device,
    GuestAgent,
    batch,
    missing_neighbours,
    read_neighbours,
)
from vnicaudit.remedy.guest.links import (
    Guest,
    Link,
    ask,
    check_alone,
    excerpt,
    is_restored,
    link_of,
    made_by_kernel,
    missing_settings,
    name,
    read_addresses,
    read_links,
    restorable,
    settings,
)
from vnicaudit.remedy.guest.links import mac as mac_word
from vnicaudit.remedy.guest.routes import guest_routes, locked, missing_routes, read_routes
from vnicaudit.remedy.hypervisor import Machine

_ATTEMPTS = 3
"""udev may rename a new interface after it was found, or may have made its old name another name of
it."""


class LinuxSettings:
    """The settings of a Linux guest, through its agent and the programs of iproute2 in it."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self._guest = GuestAgent(machine, clock)

    def capture(self, mac: str) -> GuestNetwork:
        """As :func:`capture`."""
        return capture(self._guest, mac)

    def restore(self, mac: str, network: GuestNetwork) -> None:
        """As :func:`restore`."""
        restore(self._guest, mac, network)

    def missing(self, mac: str, network: GuestNetwork) -> tuple[str, ...]:
        """As :func:`missing`."""
        return missing(self._guest, mac, network)


def capture(guest: Guest, mac: str) -> GuestNetwork:
    """The network settings to be restored on the interface with that MAC address. Nothing is
    changed.

    Raises RefusedError if there is no such interface, or a setting could not be restored exactly.
    """
    try:
        return captured(guest, mac_word(mac))
    except GuestError as error:
        raise RefusedError(
            f"the guest's network configuration cannot be read: {error} (it must run Linux with "
            "iproute2, and its agent must allow guest-exec)"
        ) from error


def restore(guest: Guest, mac: str, network: GuestNetwork) -> None:
    """Restore the settings on the interface that has that address now, which must exist. It gets
    the old name back, unless another interface has that name.

    Repeating it does no harm. Raises GuestError if a setting is missing at the end.
    """
    mac = mac_word(mac)
    device = _by_agent(guest, mac, network)
    for _ in range(_ATTEMPTS):
        ran = guest.execute(BATCH, batch(network, device))
        gone = missing(guest, mac, network) if ran.code else ()
        if not gone:
            return
        device = _by_ip(guest, mac, network)
    raise GuestError(f"not restored in the guest: {', '.join(gone)} (ip: {excerpt(ran.stderr)})")


def missing(guest: Guest, mac: str, network: GuestNetwork) -> tuple[str, ...]:
    """The captured settings that the interface with that MAC address lacks now, as text; remaining
    lifetimes are not compared. Raises GuestError if the guest cannot report them."""
    try:
        return tuple(_missing(guest, mac_word(mac), network))
    except RefusedError as error:
        raise GuestError(str(error)) from error


def _missing(guest: Guest, mac: str, network: GuestNetwork) -> Iterator[str]:
    link = link_of(read_links(guest), mac)
    if link is None:
        yield f"the interface with the MAC address {mac}"
        return
    device = link.ifname
    if device != network.name:
        yield f"the name {network.name} (it is {excerpt(device)})"
    yield from missing_settings(network.link, link)
    infos = read_addresses(guest, device) if network.addresses else []
    for one in network.addresses:
        if not any(is_restored(one, info) for info in infos):
            yield f"address {one.local}/{one.prefixlen}"
    for inet6 in (False, True):
        wanted = [route for route in network.routes if route.inet6 == inet6]
        if wanted:
            yield from missing_routes(wanted, read_routes(guest, inet6=inet6), device)
    if network.neighbours:
        there = read_neighbours(guest, device)
        yield from missing_neighbours(network.neighbours, there)


def _by_agent(guest: Guest, mac: str, network: GuestNetwork) -> Device:
    """The interface, from the agent itself, which is quicker than a program."""
    found = guest.interfaces()
    # with glibc, an address's label (eth0:web) looks like an interface with the same address
    names = {one.name.partition(":")[0] for one in found if (one.mac or "").lower() == mac}
    if len(names) != 1:
        what = "no interface" if not names else "more than one interface"
        raise GuestError(f"{what} of the guest has the MAC address {mac}")
    return _device(names.pop(), (one.name for one in found), (), network)


def _by_ip(guest: Guest, mac: str, network: GuestNetwork) -> Device:
    """The interface with its other names, which the agent does not report."""
    try:
        links = read_links(guest)
        link = link_of(links, mac)
    except RefusedError as error:
        raise GuestError(str(error)) from error
    if link is None:
        raise GuestError(f"no interface of the guest has the MAC address {mac}")
    return _device(link.ifname, (one.ifname for one in links), link.altnames, network)


def _device(
    now: str, all_names: Iterable[str], altnames: tuple[str, ...], network: GuestNetwork
) -> Device:
    free = network.name == now or network.name not in set(all_names)
    return Device(now, network.name if free else now, altnames)


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
        link=settings(link),
        addresses=addresses,
        routes=routes,
        neighbours=tuple(read_neighbours(guest, device)),
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
    infos: Iterable[GuestAddress], mac: str, link: Link
) -> tuple[tuple[GuestAddress, ...], list[str]]:
    """The addresses to restore, and a note on each that another machine uses."""
    own = [info for info in infos if not made_by_kernel(info, mac, link.inet6_addr_gen_mode)]
    notes = [
        f"Address {excerpt(info.local or '?')} is not restored: another machine has it."
        for info in own
        if info.dadfailed
    ]
    return tuple(restorable(info, link.ifname) for info in own if not info.dadfailed), notes


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
