"""Output of ``ip -j addr`` and ``ip -j route`` on a machine, and the records read from it.

Fields are those of iproute2: ip/ipaddress.c, print_addrinfo; ip/iproute.c, print_route (``gateway``
or ``via`` if there is a router, ``type`` if the route is not an ordinary one, ``dev``). The output
of a guest is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, TypeVar

import msgspec

from vnicaudit.base.wording import MAC
from vnicaudit.bench.contract import Endpoint
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.host import GuestInterface

T = TypeVar("T")

ADDRESSES = ("ip", "-j", "addr", "show")
_ANSWER_MAX = 8 * 2**20
_LINE_MAX = 65536
_MANY = 4096
_PASSING = ("temporary", "tentative", "dadfailed", "deprecated")


class IpAddress(msgspec.Struct, frozen=True):
    """One address of an interface, as ip-address(8) prints it."""

    family: str = ""
    local: str = ""
    prefixlen: int = 0
    scope: str = ""
    temporary: bool = False
    tentative: bool = False
    dadfailed: bool = False
    deprecated: bool = False

    @property
    def lasts(self) -> bool:
        """True for an address that is meant to stay: global, neither a privacy address nor
        deprecated."""
        return self.scope == "global" and not self.temporary and not self.deprecated


class IpInterface(msgspec.Struct, frozen=True):
    """One interface and its addresses. ``address``: its MAC address; ``mtu``: bytes."""

    ifname: str = ""
    address: str | None = None
    mtu: int | None = None
    flags: tuple[str, ...] = ()
    addr_info: tuple[IpAddress, ...] = ()


class IpRoute(msgspec.Struct, frozen=True):
    """One route. ``gateway`` and ``via`` are missing if it needs no router."""

    dev: str = ""
    type: str = "unicast"
    gateway: str | None = None
    via: object = None


class HeldAddress(NamedTuple):
    """An address that an interface has."""

    address: str
    interface: str
    mac: str | None


class FoundNic(NamedTuple):
    """The interface that has an address. ``mtu``: bytes; None: not reported."""

    name: str
    mac: str | None
    mtu: int | None


class RouteKind(Enum):
    """The next hop of a route to an address."""

    LINK = "on a link"
    ROUTER = "behind a router"
    LOCAL = "here"
    NONE = "not at all"


def interfaces(text: str) -> tuple[IpInterface, ...]:
    """The interfaces in the output of ``ip -j addr``. Raises MeasureError for other or overlong
    text."""
    return _decoded(text, tuple[IpInterface, ...], "addresses", _ANSWER_MAX)


def routes(text: str) -> tuple[IpRoute, ...]:
    """The routes in the output of ``ip -j route``. Raises MeasureError for other or overlong
    text."""
    return _decoded(text, tuple[IpRoute, ...], "routes", _ANSWER_MAX)


def held_addresses(text: str) -> list[HeldAddress] | None:
    """The lasting global addresses in the output of ``ip -j addr show``: without temporary ones
    (RFC 8981), unusable or deprecated ones, and those of interfaces that are down. None for other
    text."""
    try:
        return list(_held_in(interfaces(text)))[:_MANY]
    except MeasureError:
        return None


def held_addresses_of(listed: Iterable[GuestInterface]) -> list[HeldAddress]:
    """Addresses of the interfaces that a guest's agent lists; it does not tell which ones are
    temporary."""
    return [
        HeldAddress(address, one.name, one.mac)
        for one in listed
        for text in one.addresses
        if (address := _usable(text.partition("/")[0])) is not None
    ][:_MANY]


def other_family(found: Iterable[IpInterface], address: str) -> tuple[str, ...]:
    """The first lasting address of the other family, on the interface that has ``address``; None if
    there is none."""
    for interface in found:
        own = [entry for entry in interface.addr_info if entry.local == address]
        if own:
            others = (e for e in interface.addr_info if e.lasts and e.family != own[0].family)
            return tuple(entry.local for entry in others)[:1]
    return ()


def nic_with(endpoint: Endpoint, address: str) -> FoundNic | None:
    """The interface at the endpoint that has this address; None if it cannot be determined."""
    try:
        ran = endpoint.run(ADDRESSES)
    except EndpointError:
        return None
    return nic_in(ran.stdout, address) if ran.code == 0 else None


def nic_in(text: str, address: str) -> FoundNic | None:
    """The only interface with this address in the output of ``ip -j addr show``; None if none or
    several have it."""
    try:
        found = interfaces(text)
    except MeasureError:
        return None
    mine = [one for one in found if address in {info.local for info in one.addr_info}]
    if len(mine) != 1:
        return None
    (nic,) = mine
    mac = (nic.address or "").lower()
    mtu = nic.mtu if nic.mtu is not None and 0 < nic.mtu <= 65536 else None
    return FoundNic(nic.ifname[:64], mac if MAC.fullmatch(mac) else None, mtu)


def next_hops(text: str, asked: Sequence[str]) -> dict[str, RouteKind] | None:
    """The next hop to each of the addresses. ``text`` has one line of ``ip -j route get`` for each,
    in that order; None if it does not."""
    lines = text.strip().splitlines()
    if len(lines) != len(asked):
        return None
    return {address: _next_hop(line) for address, line in zip(asked, lines, strict=True)}


def _next_hop(line: str) -> RouteKind:
    try:
        found = _decoded(line, list[IpRoute], "routes", _LINE_MAX)
    except MeasureError:
        return RouteKind.NONE
    if not found:
        return RouteKind.NONE
    route = found[0]
    if route.type == "local" or route.dev == "lo":
        return RouteKind.LOCAL
    if route.type != "unicast":
        return RouteKind.NONE
    return RouteKind.LINK if route.gateway is None and route.via is None else RouteKind.ROUTER


def _decoded(text: str, kind: type[T], what: str, most: int) -> T:
    if len(text) > most:
        raise MeasureError(f"ip printed no {what}: more than {most} characters")
    try:
        return json_as(text.encode(), kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise MeasureError(f"ip printed no {what}: {error}") from error


def _held_in(found: Iterable[IpInterface]) -> Iterator[HeldAddress]:
    for one in found:
        for info in one.addr_info if "UP" in one.flags else ():
            if info.scope != "global" or any(getattr(info, flag) for flag in _PASSING):
                continue
            address = _usable(info.local)
            if address is not None:
                yield HeldAddress(address, one.ifname, one.address and one.address.lower())


def _usable(text: str) -> str | None:
    """An address that another machine can send to, in Python's notation."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    strange = address.is_loopback or address.is_link_local or address.is_multicast
    zone = isinstance(address, IPv6Address) and address.scope_id is not None
    return None if strange or zone or address.is_unspecified else str(address)
