"""The addresses of a guest's interface.

Fields are those of ``ip -j -d addr`` of iproute2 5.10, 6.1 and 6.15 (ip/ipaddress.c,
print_addrinfo).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.guest_network import GuestAddress
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.links import Number
from vnicaudit.remedy.guest.words import address, excerpt, name

_FOR_EVER = 2**32 - 1
_FLAGS = ("nodad", "home", "mngtmpaddr", "noprefixroute", "autojoin")
"""Flags that ``ip address`` can set. ``secondary`` follows from the order, ``optimistic`` from a
sysctl."""


class Info(msgspec.Struct, frozen=True):
    """One address, with the field names of ``ip``; ``address`` is the peer's."""

    family: str
    local: str | None = None
    prefixlen: Number = 0
    address: str | None = None
    broadcast: str | None = None
    anycast: str | None = None
    scope: str = "global"
    label: str | None = None
    metric: Number | None = None
    protocol: str | None = None
    valid_life_time: Number = _FOR_EVER
    preferred_life_time: int = _FOR_EVER
    nodad: bool = False
    home: bool = False
    mngtmpaddr: bool = False
    noprefixroute: bool = False
    autojoin: bool = False
    temporary: bool = False
    tentative: bool = False
    dadfailed: bool = False


class _Interface(msgspec.Struct, frozen=True):
    ifname: str = ""
    addr_info: tuple[Info, ...] = ()


def read_addresses(guest: Guest, device: str) -> list[Info]:
    """The IPv4 and IPv6 addresses of the interface, in the kernel's order. Raises RefusedError if
    the guest cannot report them."""
    found = ask(guest, ("ip", "-j", "-d", "addr", "show", "dev", name(device)), _Interface)
    return [
        info
        for interface in found
        if interface.ifname == device
        for info in interface.addr_info
        if info.family in ("inet", "inet6")
    ]


def made_by_kernel(info: Info, mac: str, mode: str | None) -> bool:
    """True if the kernel makes the address by itself: the link-local one from the MAC address, and
    temporary ones (RFC 8981) from the address that manages them."""
    if info.temporary:
        return True
    return mode == "eui64" and info.local is not None and info.local == link_local(mac)


def link_local(mac: str) -> str:
    """The link-local address of a MAC address (RFC 4291, appendix A)."""
    byte = bytes.fromhex(mac.replace(":", ""))
    interface = bytes([byte[0] ^ 2, byte[1], byte[2], 0xFF, 0xFE, *byte[3:]])
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def guest_address(info: Info, device: str) -> GuestAddress:
    """The address as it is to be restored. Raises RefusedError for one that cannot be."""
    if info.local is None or info.anycast is not None:
        raise RefusedError(f"{excerpt(device)} has an address of an unknown kind in the guest")
    return GuestAddress(
        local=address(info.local),
        prefix=_length(info),
        peer=None if info.address is None else address(info.address),
        broadcast=None if info.broadcast is None else address(info.broadcast),
        scope=name(info.scope),
        label=_label(info.label, device),
        metric=info.metric,
        protocol=None if info.protocol is None else name(info.protocol),
        flags=tuple(flag for flag in _FLAGS if getattr(info, flag)),
        valid=_seconds(info.valid_life_time),
        preferred=_seconds(max(info.preferred_life_time, 0)),
        tentative=info.tentative,
    )


def address_lines(addresses: Iterable[GuestAddress], device: str) -> list[str]:
    """The commands that add the addresses, so that they are listed in the same order as before. An
    IPv6 address that was found to be unique before is used at once, without duplicate detection:
    otherwise it would be unusable for one to two seconds, and no route could have it as its
    source."""
    addresses = tuple(addresses)
    old = [_line(one, device) for one in addresses if not one.inet6]
    new = [
        _line(one, device, unasked=not one.tentative) for one in reversed(addresses) if one.inet6
    ]
    return old + new


def asking_lines(addresses: Iterable[GuestAddress], device: str) -> list[str]:
    """The commands that undo what :func:`address_lines` set only for speed; they come last."""
    return [
        _line(one, device)
        for one in addresses
        if one.inet6 and "nodad" not in one.flags and not one.tentative
    ]


def _line(one: GuestAddress, device: str, *, unasked: bool = False) -> str:
    flags = [flag for flag in one.flags if flag in _FLAGS]
    if unasked and "nodad" not in flags:
        flags.append("nodad")
    return " ".join(
        ["addr replace", *_address_words(one), "dev", device, *_attributes(one, device), *flags]
    )


def _address_words(one: GuestAddress) -> Iterator[str]:
    if one.peer is None:
        yield f"{address(one.local)}/{one.prefix}"
    else:
        yield from (address(one.local), "peer", f"{address(one.peer)}/{one.prefix}")


def _attributes(one: GuestAddress, device: str) -> Iterator[str]:
    if one.broadcast is not None:
        yield f"broadcast {address(one.broadcast)}"
    if not one.inet6:
        yield f"scope {name(one.scope)}"
    label = None if one.label is None else f"{device}:{one.label.partition(':')[2]}"
    if label is not None and len(label) < 16:  # IFNAMSIZ, including the final zero
        yield f"label {name(label)}"
    if one.metric is not None:
        yield f"metric {one.metric}"
    if one.protocol is not None:
        yield f"proto {name(one.protocol)}"
    if one.valid is not None or one.preferred is not None:
        yield f"valid_lft {_lifetime(one.valid)} preferred_lft {_lifetime(one.preferred)}"


def is_restored(one: GuestAddress, info: Info) -> bool:
    """True if ``info`` is the captured address, whatever its other attributes, and is usable."""
    peer = one.local if one.peer is None else one.peer
    there = (info.local, info.prefixlen, info.address or info.local)
    return (one.local, one.prefix, peer) == there and not info.dadfailed


def _label(label: str | None, device: str) -> str | None:
    return name(label) if label is not None and label.startswith(f"{device}:") else None


def _length(info: Info) -> int:
    if info.prefixlen > (128 if info.family == "inet6" else 32):
        raise RefusedError(f"the guest has a prefix of {info.prefixlen} bits")
    return info.prefixlen


def _seconds(lifetime: int) -> int | None:
    return None if lifetime >= _FOR_EVER else lifetime


def _lifetime(seconds: int | None) -> str:
    return "forever" if seconds is None else str(seconds)
