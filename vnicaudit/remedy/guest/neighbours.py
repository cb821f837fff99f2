"""The permanent neighbours of a guest's interface, and the addresses it answers for (proxy).

Fields are those of ``ip -j neigh`` of iproute2 5.10, 6.1 and 6.15 (ip/ipneigh.c, print_neigh): a
flag that is set is present, with an empty value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.guest_network import GuestNeighbour
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.words import address, excerpt, mac, name


class _Neighbour(msgspec.Struct, frozen=True):
    dst: str
    lladdr: str | None = None
    state: tuple[str, ...] = ()
    router: object = False
    proxy: object = False
    protocol: str | None = None


def read_neighbours(guest: Guest, device: str) -> list[GuestNeighbour]:
    """The neighbours of the interface that somebody set, without those that the kernel found.
    Raises RefusedError if the guest cannot report them."""
    show = ("ip", "-j", "neigh", "show")
    permanent = ask(guest, (*show, "dev", name(device), "nud", "permanent"), _Neighbour)
    # without a family, neigh show proxy lists IPv4 and IPv6
    proxied = ask(guest, (*show, "proxy", "dev", name(device)), _Neighbour)
    found = [_neighbour(one) for one in permanent if "PERMANENT" in one.state]
    return found + [_neighbour(one) for one in proxied if one.proxy is None]


def _neighbour(one: _Neighbour) -> GuestNeighbour:
    proxied = one.proxy is None
    if not proxied and one.lladdr is None:
        raise RefusedError(f"the guest has a neighbour without an address: {excerpt(one.dst)}")
    return GuestNeighbour(
        address=address(one.dst),
        mac=None if one.lladdr is None or proxied else mac(one.lladdr),
        router=one.router is None,
        protocol=None if one.protocol is None else name(one.protocol),
    )


def neighbour_lines(neighbours: Iterable[GuestNeighbour], device: str) -> list[str]:
    """The commands that add them."""
    return [" ".join(_words(one, device)) for one in neighbours]


def _words(one: GuestNeighbour, device: str) -> Iterator[str]:
    if one.mac is None:
        yield f"neigh replace proxy {address(one.address)} dev {device}"
    else:
        yield f"neigh replace {address(one.address)} lladdr {mac(one.mac)} dev {device}"
        yield "nud permanent"
    if one.router:
        yield "router"
    if one.protocol is not None:
        yield f"proto {name(one.protocol)}"


def missing_neighbours(
    wanted: Iterable[GuestNeighbour], now: Iterable[GuestNeighbour]
) -> list[str]:
    """The wanted neighbours that are missing now, in words."""
    there = {(one.address, one.mac) for one in now}
    return [f"neighbour {one.address}" for one in wanted if (one.address, one.mac) not in there]
