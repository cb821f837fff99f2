"""The links of a running guest: questions to its agent and the answers, words, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import MAC
from vnicaudit.errors import RefusedError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.guest_network import FOR_EVER, GuestAddress, GuestLink, Number
from vnicaudit.model.host import GuestExit, GuestInterface

# Words that may stand in a line of ``ip -batch``.
#
# The words come from the guest, which may send anything. ``ip`` splits a line at blanks and knows
# quotes, comments and a backslash at its end (iproute2 lib/utils.c, getcmdline and makeargs): none
# of those is accepted here. Each function returns the word, or raises RefusedError.


_NAME = re.compile(r"[A-Za-z0-9_.:@][A-Za-z0-9_.:@-]{0,63}")
_SHOWN_MAX = 200


def name(text: str) -> str:
    """The name of an interface, a table, a protocol, a scope; or a number."""
    if _NAME.fullmatch(text) is None:
        raise RefusedError(f"the guest has a name that cannot be passed on safely: {excerpt(text)}")
    return text


def mac(text: str) -> str:
    """A MAC address in small letters."""
    if MAC.fullmatch(text.lower()) is None:
        raise RefusedError(f"the guest reports an invalid hardware address: {excerpt(text)}")
    return text.lower()


def address(text: str) -> str:
    """An address. One with a zone (``fe80::1%eth0``) is refused: a zone may be any text."""
    try:
        if "%" in text:
            raise ValueError(text)
        return str(ip_address(text))
    except ValueError:
        raise RefusedError(f"the guest reports an invalid address: {excerpt(text)}") from None


def prefix(text: str, *, inet6: bool) -> str:
    """A destination with its length; ``default`` is the one of that family."""
    if text == "default":
        return "::/0" if inet6 else "0.0.0.0/0"
    try:
        if "%" in text:
            raise ValueError(text)
        return str(ip_network(text))
    except ValueError:
        raise RefusedError(
            f"the guest reports a route to an invalid network: {excerpt(text)}"
        ) from None


def excerpt(text: str | bytes) -> str:
    """The beginning of a guest's output, for a message: printable ASCII on one line, ``(nothing)``
    if it is empty."""
    if isinstance(text, bytes):
        text = text[: 4 * _SHOWN_MAX].decode("ascii", "replace")
    plain = "".join(letter if " " < letter <= "~" else " " for letter in text)
    return " ".join(plain.split())[:_SHOWN_MAX] or "(nothing)"


# Run a guest's programs, and decode their JSON answers.
#
# A guest may answer anything, at any length: an answer is decoded into records, and refused if it
# does not fit.


T = TypeVar("T")

_ANSWER_MAX = 8 * 1024 * 1024
"""Maximum size of an answer. A route takes some 150 bytes, so this is far more than is ever
restored."""
_INSTALL = "install iproute2 4.17 or later in the guest (busybox's ip will not do)"


class Guest(Protocol):
    """A running guest, through its agent. Both methods raise GuestError if it does not answer."""

    def interfaces(self) -> list[GuestInterface]:
        """The guest's network interfaces. An address's label may appear as an interface of its
        own."""

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        """Run a program to its end, without a shell."""


def ask(guest: Guest, argv: Sequence[str], kind: type[T]) -> list[T]:
    """The objects that ``ip -j`` (or another program of iproute2) prints; empty ones, which some
    versions print for filtered objects, are left out. Raises RefusedError."""
    ran = guest.execute(argv)
    command = " ".join(argv)
    if ran.code:
        said = excerpt(ran.stderr or ran.stdout)
        raise RefusedError(f"{command} failed in the guest ({said}): {_INSTALL}")
    if len(ran.stdout) > _ANSWER_MAX:
        size = len(ran.stdout) >> 20
        raise RefusedError(f"the guest's answer to {command} is too long ({size} MiB)")
    try:
        objects = json_as(ran.stdout.strip() or b"[]", list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        raise RefusedError(f"the guest's {command} did not answer in JSON: {_INSTALL}") from None
    try:
        return [json_as(one, kind) for one in objects if bytes(one) != b"{}"]
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        said = excerpt(str(error))
        raise RefusedError(f"the guest's {command} did not answer as expected: {said}") from None


# The guest's interface with a MAC address: find it, check that nothing depends on it, and read its
# settings.
#
# Fields are those of ``ip -j -d link`` of iproute2 5.10, 6.1 and 6.15.


_COMMAND = ("ip", "-j", "-d", "link", "show")
_MODES = frozenset({"eui64", "none", "random"})
"""Ways to make a link-local address that ``ip link set addrgenmode`` takes without a secret."""


class _Data(msgspec.Struct, frozen=True):
    link: object = None


class _Kind(msgspec.Struct, frozen=True):
    info_kind: str | None = None
    info_slave_kind: str | None = None
    info_data: _Data = _Data()


class Link(msgspec.Struct, frozen=True):
    """One interface, with the field names of ``ip``."""

    ifname: str = ""
    link: str | None = None
    flags: tuple[str, ...] = ()
    mtu: Number = 0
    master: str | None = None
    group: str = "default"
    txqlen: Number | None = None
    link_type: str | None = None
    address: str | None = None
    permaddr: str | None = None
    linkinfo: _Kind = _Kind()
    xdp: object = None
    inet6_addr_gen_mode: str | None = None
    altnames: tuple[str, ...] = ()
    ifalias: str | None = None

    def stands_on(self, name: str) -> bool:
        """True if this interface depends on the one of that name: as a VLAN on it, a tunnel through
        it (VXLAN names it in another field), a part of it…"""
        return name in (self.link, self.master, self.linkinfo.info_data.link)


def read_links(guest: Guest) -> list[Link]:
    """All interfaces the guest's agent sees. Raises RefusedError if it cannot report them."""
    return ask(guest, _COMMAND, Link)


def link_of(links: Iterable[Link], mac: str) -> Link | None:
    """The interface with that address that is below all others with it (bonds, bridges and VLANs
    take the address of the NIC below them); None if there is none. Raises RefusedError if there are
    several."""
    having = [link for link in links if mac in (_small(link.address), _small(link.permaddr))]
    names = {link.ifname for link in having}
    masters = {link.master for link in having}
    lowest = [link for link in having if link.link not in names and link.ifname not in masters]
    if len(lowest) > 1:
        several = excerpt(", ".join(link.ifname for link in lowest))
        raise RefusedError(f"several interfaces of the guest have the MAC address {mac}: {several}")
    return lowest[0] if lowest else None


def check_alone(link: Link, links: Iterable[Link], mac: str) -> None:
    """Raises RefusedError if something else in the guest would be lost with the interface."""
    this = excerpt(link.ifname)
    if _small(link.address) != mac:
        raise RefusedError(f"{this} was given another MAC address in the guest")
    if link.link_type != "ether":
        raise RefusedError(f"{this} is not an Ethernet interface in the guest")
    if link.master is not None:
        kind = excerpt(link.linkinfo.info_slave_kind or "master")
        raise RefusedError(f"{this} is part of {excerpt(link.master)} ({kind}) in the guest")
    if link.xdp is not None:
        raise RefusedError(f"an XDP program is attached to {this} in the guest")
    upper = [other for other in links if other.stands_on(link.ifname)]
    if upper:
        kind = excerpt(upper[0].linkinfo.info_kind or "interface")
        raise RefusedError(f"{excerpt(upper[0].ifname)} ({kind}) is stacked on {this} in the guest")


def settings(link: Link) -> GuestLink:
    """The settings of an interface that are restored."""
    return GuestLink(
        up="UP" in link.flags,
        mtu=link.mtu,
        txqueuelen=link.txqlen,
        promisc="PROMISC" in link.flags,
        allmulticast="ALLMULTI" in link.flags,
        multicast="MULTICAST" in link.flags,
        arp="NOARP" not in link.flags,
        group=link.group,
        address_mode=link.inet6_addr_gen_mode,
    )


def _differences(link: GuestLink, there: GuestLink) -> list[tuple[str, str]]:
    """``(words, text)`` of each setting that the interface does not have: how ``ip link`` sets it,
    in order, and the setting for people."""
    settings = (
        (f"mtu {link.mtu}", f"MTU {link.mtu}", link.mtu != there.mtu),
        (f"txqueuelen {link.txqueuelen}", f"queue length {link.txqueuelen}",
         link.txqueuelen not in (None, there.txqueuelen)),
        ("promisc on", "promiscuous mode", link.promisc and not there.promisc),
        ("allmulticast on", "all multicast", link.allmulticast and not there.allmulticast),
        ("multicast off", "multicast off", there.multicast and not link.multicast),
        ("arp off", "ARP off", there.arp and not link.arp),
        (f"group {link.group}", f"group {link.group}", link.group != there.group),
    )  # fmt: skip
    return [(words, text) for words, text, differs in settings if differs]


_NEW = GuestLink(up=False, mtu=0)
"""A new Ethernet interface; its MTU is always set."""


def link_lines(link: GuestLink, device: str) -> list[str]:
    """The commands that give a new interface these settings, in order. Settings that every new
    Ethernet interface has are left out."""
    name(link.group)  # raises for one that cannot stand in a line
    said = [words for words, _text in _differences(link, _NEW)]
    if link.address_mode in _MODES:
        said.append(f"addrgenmode {link.address_mode}")
    if link.up:
        said.append("up")
    return [f"link set dev {device} {words}" for words in said]


def renaming_lines(link_name: str, wanted: str, altnames: Iterable[str]) -> list[str]:
    """The commands that rename an interface. It must be down (Linux before 6.2), and must not have
    the name among its other names, which udev assigns."""
    if link_name == wanted:
        return []
    own = [f"link property del dev {link_name} altname {wanted}"] if wanted in altnames else []
    return [f"link set dev {link_name} down", *own, f"link set dev {link_name} name {wanted}"]


def missing_settings(link: GuestLink, now: Link) -> list[str]:
    """The settings that the interface does not have."""
    there = settings(now)
    down = ["up"] if link.up and not there.up else []
    return down + [text for _words, text in _differences(link, there)]


def _small(text: str | None) -> str | None:
    return None if text is None else text.lower()


# The addresses of a guest's interface.
#
# Fields are those of ``ip -j -d addr`` of iproute2 5.10, 6.1 and 6.15 (ip/ipaddress.c,
# print_addrinfo).


_FLAGS = ("nodad", "home", "mngtmpaddr", "noprefixroute", "autojoin")
"""Flags that ``ip address`` can set. ``secondary`` follows from the order, ``optimistic`` from a
sysctl."""


class _Interface(msgspec.Struct, frozen=True):
    ifname: str = ""
    addr_info: tuple[GuestAddress, ...] = ()


def read_addresses(guest: Guest, device: str) -> list[GuestAddress]:
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


def made_by_kernel(info: GuestAddress, mac: str, mode: str | None) -> bool:
    """True if the kernel makes the address by itself: the link-local one from the MAC address, and
    temporary ones (RFC 8981) from the address that manages them."""
    if info.temporary:
        return True
    return mode == "eui64" and info.local == link_local(mac)


def link_local(mac: str) -> str:
    """The link-local address of a MAC address (RFC 4291, appendix A)."""
    byte = bytes.fromhex(mac.replace(":", ""))
    interface = bytes([byte[0] ^ 2, byte[1], byte[2], 0xFF, 0xFE, *byte[3:]])
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def restorable(info: GuestAddress, device: str) -> GuestAddress:
    """The address as it is to be restored. Raises RefusedError for one that cannot be."""
    ends = [address(end) for end in (info.local, info.address) if end]
    several = any((":" in end) != info.inet6 for end in ends)
    if not info.local or info.anycast is not None or several:
        raise RefusedError(f"{excerpt(device)} has an address of an unknown kind in the guest")
    if info.prefixlen > (128 if info.inet6 else 32):
        raise RefusedError(f"the guest has a prefix of {info.prefixlen} bits")
    label = info.label if (info.label or "").startswith(f"{device}:") else None
    return replace(info, scope=name(info.scope), label=label)


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
        _line(one, device) for one in addresses if one.inet6 and not one.nodad and not one.tentative
    ]


def _line(one: GuestAddress, device: str, *, unasked: bool = False) -> str:
    flags = [flag for flag in _FLAGS if getattr(one, flag)]
    if unasked and not one.nodad:
        flags.append("nodad")
    return " ".join(
        ["addr replace", *_address_words(one), "dev", device, *_attributes(one, device), *flags]
    )


def _address_words(one: GuestAddress) -> Iterator[str]:
    if one.address is None:
        yield f"{address(one.local)}/{one.prefixlen}"
    else:
        yield from (address(one.local), "peer", f"{address(one.address)}/{one.prefixlen}")


def _attributes(one: GuestAddress, device: str) -> Iterator[str]:
    if one.broadcast is not None:
        yield f"broadcast {address(one.broadcast)}"
    if not one.inet6:
        yield f"scope {name(one.scope)}"
    suffix = (one.label or "").partition(":")[2]
    label = f"{device}:{suffix}"
    if suffix and len(label) < 16:  # IFNAMSIZ, including the final zero
        yield f"label {name(label)}"
    if one.metric is not None:
        yield f"metric {one.metric}"
    if one.protocol is not None:
        yield f"proto {name(one.protocol)}"
    valid, preferred = one.valid_life_time, max(one.preferred_life_time, 0)
    if min(valid, preferred) < FOR_EVER:
        yield f"valid_lft {_lifetime(valid)} preferred_lft {_lifetime(preferred)}"


def is_restored(one: GuestAddress, info: GuestAddress) -> bool:
    """True if ``info`` is the captured address, whatever its other attributes, and is usable."""
    wanted, there = (
        (each.local, each.prefixlen, each.address or each.local) for each in (one, info)
    )
    return wanted == there and not info.dadfailed


def _lifetime(seconds: int) -> str:
    return "forever" if seconds >= FOR_EVER else str(seconds)
