"""Addresses and default routes of an end, from ``ip -json`` (iproute2)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as

ADDRESSES = ("ip", "-json", "addr", "show")
ROUTES = (
    ("ip", "-json", "-4", "route", "show", "default"),
    ("ip", "-json", "-6", "route", "show", "default"),
)


class Address(msgspec.Struct, frozen=True):
    """One address of an interface, as ip-address(8) prints it."""

    family: str
    local: str = ""
    prefixlen: int = 0
    scope: str = ""
    temporary: bool = False
    deprecated: bool = False

    @property
    def lasts(self) -> bool:
        """Whether it is meant to be there tomorrow: no privacy address, not on its way out."""
        return self.scope == "global" and not self.temporary and not self.deprecated


class Interface(msgspec.Struct, frozen=True):
    """One interface and its addresses."""

    ifname: str = ""
    addr_info: tuple[Address, ...] = ()


class Route(msgspec.Struct, frozen=True):
    """A default route. ``gateway`` is empty for one that needs none."""

    gateway: str = ""
    dev: str = ""


def interfaces(text: str) -> tuple[Interface, ...]:
    """Raises MeasureError for what is not the output of ``ip -json addr``."""
    try:
        return json_as(text.encode(), tuple[Interface, ...])
    except msgspec.DecodeError as error:
        raise MeasureError(f"ip printed no addresses: {error}") from error


def routes(text: str) -> tuple[Route, ...]:
    """Raises MeasureError for what is not the output of ``ip -json route``."""
    try:
        return json_as(text.encode(), tuple[Route, ...])
    except msgspec.DecodeError as error:
        raise MeasureError(f"ip printed no routes: {error}") from error


def lasting(found: tuple[Interface, ...]) -> Iterator[str]:
    """``ADDRESS/PREFIX`` of all addresses that are meant to stay."""
    for interface in found:
        for address in interface.addr_info:
            if address.lasts:
                yield f"{address.local}/{address.prefixlen}"


def neighbours(found: tuple[Interface, ...], address: str) -> tuple[str, ...]:
    """The first lasting address of the other family, on the interface that has ``address``."""
    for interface in found:
        own = [entry for entry in interface.addr_info if entry.local == address]
        if own:
            others = (e for e in interface.addr_info if e.lasts and e.family != own[0].family)
            return tuple(entry.local for entry in others)[:1]
    return ()
