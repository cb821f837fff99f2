"""Preserve a Linux guest's network settings while the device below them is exchanged.

The new device is a new interface to the guest, without addresses and routes. :func:`capture` reads
the settings of the old one, or refuses if some could not be restored; :func:`restore` sets them by
one ``ip -batch``, as each program that is run through the agent takes 50 to 100 ms; :func:`missing`
lists the settings that are not there. Settings that the guest's own programs (NetworkManager,
networkd) have made meanwhile are not made twice.

Settings that ``ip`` and ``tc`` do not show are not restored: those below /proc/sys/net (except for
the ones that are reported), multicast groups and raw sockets that programs hold on the interface,
its name servers (systemd-resolved), netfilter hooks and BPF programs (tcx) on it, and interfaces on
top of it in other network namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.base.deadlines import Clock
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.remedy.guest import agent as guest_neighbours
from vnicaudit.remedy.guest import links as guest_links
from vnicaudit.remedy.guest import routes as guest_routes
from vnicaudit.remedy.guest.agent import BATCH, Device, GuestAgent, aged, batch
from vnicaudit.remedy.guest.capture import captured
from vnicaudit.remedy.guest.links import Guest, excerpt, is_restored, read_addresses
from vnicaudit.remedy.guest.links import mac as mac_word
from vnicaudit.remedy.guest.routes import read_routes
from vnicaudit.remedy.hypervisor import Machine

__all__ = ["Guest", "aged", "capture", "missing", "restore"]

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
    link = guest_links.link_of(guest_links.read_links(guest), mac)
    if link is None:
        yield f"the interface with the MAC address {mac}"
        return
    device = link.ifname
    if device != network.name:
        yield f"the name {network.name} (it is {excerpt(device)})"
    yield from guest_links.missing_settings(network.link, link)
    infos = read_addresses(guest, device) if network.addresses else []
    for one in network.addresses:
        if not any(is_restored(one, info) for info in infos):
            yield f"address {one.local}/{one.prefix}"
    for inet6 in (False, True):
        wanted = [route for route in network.routes if route.inet6 == inet6]
        if wanted:
            yield from guest_routes.missing_routes(wanted, read_routes(guest, inet6=inet6), device)
    if network.neighbours:
        there = guest_neighbours.read_neighbours(guest, device)
        yield from guest_neighbours.missing_neighbours(network.neighbours, there)


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
        links = guest_links.read_links(guest)
        link = guest_links.link_of(links, mac)
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
