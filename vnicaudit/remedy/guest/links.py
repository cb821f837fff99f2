"""The guest's interface with a MAC address: find it, check that nothing depends on it, and read its
settings.

Fields are those of ``ip -j -d link`` of iproute2 5.10, 6.1 and 6.15.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.guest_network import GuestLink
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.words import excerpt, name

_COMMAND = ("ip", "-j", "-d", "link", "show")
_MODES = frozenset({"eui64", "none", "random"})
"""Ways to make a link-local address that ``ip link set addrgenmode`` takes without a secret."""
Number = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]


class _Data(msgspec.Struct, frozen=True):
    link: object = None


class _Kind(msgspec.Struct, frozen=True):
    info_kind: str | None = None
    info_slave_kind: str | None = None
    info_data: _Data = _Data()


class Link(msgspec.Struct, frozen=True):
    """One interface, with the field names of ``ip``."""

    ifname: str = ""
    ifindex: Number = 0
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


def link_lines(link: GuestLink, device: str) -> list[str]:
    """The commands that give a new interface these settings, in order. Settings that every new
    Ethernet interface has are left out."""
    said = [f"mtu {link.mtu}"]
    if link.txqueuelen is not None:
        said.append(f"txqueuelen {link.txqueuelen}")
    if link.promisc:
        said.append("promisc on")
    if link.allmulticast:
        said.append("allmulticast on")
    if not link.multicast:
        said.append("multicast off")
    if not link.arp:
        said.append("arp off")
    if link.group != "default":
        said.append(f"group {name(link.group)}")
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
    checks = (
        ("up", link.up and not there.up),
        (f"MTU {link.mtu}", link.mtu != there.mtu),
        (f"queue length {link.txqueuelen}", link.txqueuelen not in (None, there.txqueuelen)),
        ("promiscuous mode", link.promisc and not there.promisc),
        ("all multicast", link.allmulticast and not there.allmulticast),
        ("multicast off", there.multicast and not link.multicast),
        ("ARP off", there.arp and not link.arp),
        (f"group {link.group}", link.group != there.group),
    )
    return [text for text, missing in checks if missing]


def _small(text: str | None) -> str | None:
    return None if text is None else text.lower()
