"""Everything that is restored on a guest's interface, as lines for one ``ip -batch``."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.guest_network import GuestAddress, GuestNetwork, GuestRoute
from vnicaudit.remedy.guest.addresses import address_lines, asking_lines
from vnicaudit.remedy.guest.links import link_lines, renaming_lines
from vnicaudit.remedy.guest.neighbours import neighbour_lines
from vnicaudit.remedy.guest.routes import route_lines
from vnicaudit.remedy.guest.words import name

BATCH = ("ip", "-force", "-batch", "-")
"""``-force``: a line that fails (its route exists already) does not stop the others."""


class Device(NamedTuple):
    """The interface to restore the settings on: its name, the name it gets, its other names."""

    name: str
    wanted_name: str
    altnames: tuple[str, ...] = ()


def batch(network: GuestNetwork, device: Device) -> bytes:
    """The commands, in an order in which each finds what it depends on. All of them may be
    repeated. Raises RefusedError if a word cannot be written in a line."""
    wanted = name(device.wanted_name)
    lines = [
        *renaming_lines(name(device.name), wanted, device.altnames),
        *link_lines(network.link, wanted),
        *address_lines(network.addresses, wanted),
        *route_lines(network.routes, wanted),
        *neighbour_lines(network.neighbours, wanted),
        *asking_lines(network.addresses, wanted),
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def aged(network: GuestNetwork, seconds: float) -> GuestNetwork:
    """The captured network settings ``seconds`` later: remaining lifetimes are shorter by that, and
    addresses and routes that have expired are left out."""
    passed = max(int(seconds), 0)
    addresses = (_later(one, passed) for one in network.addresses)
    routes = (_later_route(one, passed) for one in network.routes)
    return replace(
        network,
        addresses=tuple(one for one in addresses if one.valid != 0),
        routes=tuple(one for one in routes if one.expires != 0),
    )


def _later(one: GuestAddress, passed: int) -> GuestAddress:
    return replace(
        one, valid=_seconds_left(one.valid, passed), preferred=_seconds_left(one.preferred, passed)
    )


def _later_route(one: GuestRoute, passed: int) -> GuestRoute:
    return replace(one, expires=_seconds_left(one.expires, passed))


def _seconds_left(seconds: int | None, passed: int) -> int | None:
    return None if seconds is None else max(seconds - passed, 0)
