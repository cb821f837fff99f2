"""The lasting addresses of a machine: what ``ip -j addr`` prints, or a guest's agent says.

Fields are those of iproute2 (ip/ipaddress.c, print_addrinfo). A guest may say anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

import msgspec

from vnicaudit.model.decoding import json_as
from vnicaudit.model.machine import GuestInterface

_ANSWER_MAX = 8 * 2**20
_MANY = 4096
_PASSING = ("temporary", "tentative", "dadfailed", "deprecated")


class Held(NamedTuple):
    """An address that an interface has."""

    address: str
    interface: str
    mac: str | None


class _Info(msgspec.Struct, frozen=True):
    family: str = ""
    local: str = ""
    scope: str = ""
    temporary: bool = False
    tentative: bool = False
    dadfailed: bool = False
    deprecated: bool = False


class _Interface(msgspec.Struct, frozen=True):
    ifname: str = ""
    address: str | None = None
    flags: tuple[str, ...] = ()
    addr_info: tuple[_Info, ...] = ()


def held(text: str) -> list[Held] | None:
    """The global addresses that ``ip -j addr show`` prints and that stay: neither temporary ones
    (RFC 8981), nor those that are not, or no longer, to be used, nor those of interfaces that are
    down. None where that is not what was printed."""
    if len(text) > _ANSWER_MAX:
        return None
    try:
        interfaces = json_as(text.encode(), list[_Interface])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return list(_lasting(interfaces))[:_MANY]


def held_by(interfaces: Iterable[GuestInterface]) -> list[Held]:
    """The same, of what a guest's agent lists; it does not say which ones stay."""
    return [
        Held(address, one.name, one.mac)
        for one in interfaces
        for text in one.addresses
        if (address := _usable(text.partition("/")[0])) is not None
    ][:_MANY]


def _lasting(interfaces: Iterable[_Interface]) -> Iterator[Held]:
    for one in interfaces:
        for info in one.addr_info if "UP" in one.flags else ():
            if info.scope != "global" or any(getattr(info, flag) for flag in _PASSING):
                continue
            address = _usable(info.local)
            if address is not None:
                yield Held(address, one.ifname, one.address and one.address.lower())


def _usable(text: str) -> str | None:
    """An address that another machine can send to, as Python writes it."""
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        return None
    strange = address.is_loopback or address.is_link_local or address.is_multicast
    zone = isinstance(address, IPv6Address) and address.scope_id is not None
    return None if strange or zone or address.is_unspecified else str(address)
