"""The interface behind an address: name, MAC and MTU, by ``ip -j addr`` (iproute2,
ip/ipaddress.c)."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from vnicaudit.bench.contract import Endpoint
from vnicaudit.errors import EndpointError
from vnicaudit.model.decoding import json_as

_MAX = 8 * 2**20
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


class FoundNic(NamedTuple):
    """``mtu``: bytes; None: not said."""

    name: str
    mac: str | None
    mtu: int | None


class _Address(msgspec.Struct, frozen=True):
    local: str = ""


class _Interface(msgspec.Struct, frozen=True):
    ifname: str = ""
    address: str | None = None
    mtu: int | None = None
    addr_info: tuple[_Address, ...] = ()


def nic_with(endpoint: Endpoint, address: str) -> FoundNic | None:
    """The interface there that has this address; None where it cannot be told."""
    try:
        ran = endpoint.run(["ip", "-j", "addr", "show"])
    except EndpointError:
        return None
    return parse(ran.stdout, address) if ran.code == 0 else None


def parse(text: str, address: str) -> FoundNic | None:
    """What ``ip -j addr show`` prints of the one interface that has this address."""
    try:
        found = json_as(text[:_MAX].encode(), list[_Interface])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    mine = [one for one in found if address in {info.local for info in one.addr_info}]
    if len(mine) != 1:
        return None
    (nic,) = mine
    mac = (nic.address or "").lower()
    mtu = nic.mtu if nic.mtu is not None and 0 < nic.mtu <= 65536 else None
    return FoundNic(nic.ifname[:64], mac if _MAC.fullmatch(mac) else None, mtu)
