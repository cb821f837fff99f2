"""Network setup of one interface in a running Linux guest, to be restored after the device under it
was replaced.

Addresses, routes and neighbours are the records of the guest's own ``ip``, of iproute2 5.10, 6.1
and 6.15. Only settings that can be restored are recorded.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

FOR_EVER = 2**32 - 1
"""A lifetime without end."""
Number = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]


class GuestLink(msgspec.Struct, frozen=True):
    """Settings of the interface itself. ``address_mode`` is how the kernel makes its link-local
    address (``eui64``, ``none``, ``stable_secret``, ``random``); None: IPv6 is not used."""

    up: bool
    mtu: int
    txqueuelen: int | None = None
    promisc: bool = False
    allmulticast: bool = False
    multicast: bool = True
    arp: bool = True
    group: str = "default"
    address_mode: str | None = None


class GuestAddress(msgspec.Struct, frozen=True):
    """One address, with the field names of ``ip``; ``address`` is the peer's. Lifetimes are seconds
    left."""

    family: str
    local: str = ""
    prefixlen: Number = 0
    address: str | None = None
    broadcast: str | None = None
    anycast: str | None = None
    scope: str = "global"
    label: str | None = None
    metric: Number | None = None
    protocol: str | None = None
    valid_life_time: Number = FOR_EVER
    preferred_life_time: int = FOR_EVER
    nodad: bool = False
    home: bool = False
    mngtmpaddr: bool = False
    noprefixroute: bool = False
    autojoin: bool = False
    temporary: bool = False
    tentative: bool = False
    """The kernel was still checking whether another machine has it."""
    dadfailed: bool = False

    @property
    def inet6(self) -> bool:
        """True for an IPv6 address."""
        return ":" in self.local


class Via(msgspec.Struct, frozen=True):
    """A gateway of another family than the route's."""

    family: str
    host: str


class NextHop(msgspec.Struct, frozen=True):
    """One of several next hops."""

    dev: str | None = None


class GuestRoute(msgspec.Struct, frozen=True, rename={"origin": "from", "source": "prefsrc"}):
    """One route, with the field names of ``ip``. ``origin``: the sources that it applies to."""

    dst: str
    """With the prefix length in a route that is recorded: ``0.0.0.0/0`` is the default route."""
    type: str = "unicast"
    origin: str | None = None
    tos: str | None = None
    via: Via | None = None
    gateway: str | None = None
    dev: str | None = None
    table: str = "main"
    protocol: str = "boot"
    scope: str = "global"
    source: str | None = None
    metric: Number = 0
    flags: tuple[str, ...] = ()
    metrics: tuple[dict[str, int | str | None], ...] = ()
    expires: Number | None = None
    pref: str | None = None
    nexthops: tuple[NextHop, ...] = ()
    shared: bool = False
    """Not of ``ip``: another route has the same destination and metric, and this one is added
    behind it."""

    @property
    def inet6(self) -> bool:
        """True for an IPv6 route that is recorded."""
        return ":" in self.dst

    @property
    def key(self) -> tuple[object, ...]:
        """The fields by which the kernel tells the routes of one family apart."""
        return self.table, self.dst, self.origin, self.tos, self.metric

    @property
    def next_hop(self) -> str | None:
        """The gateway's address, of whatever family."""
        return self.gateway if self.via is None else self.via.host

    def through(self, device: str) -> bool:
        """True if the route leads through that interface, alone or with others."""
        return self.dev == device or any(hop.dev == device for hop in self.nexthops)


class GuestNeighbour(msgspec.Struct, frozen=True):
    """A permanent neighbour, or an address for which this machine answers (``proxy``), with the
    field names of ``ip``: a flag that is set is present, with an empty value (None)."""

    dst: str
    lladdr: str | None = None
    state: tuple[str, ...] = ()
    router: bool | None = False
    proxy: bool | None = False
    protocol: str | None = None


class GuestNetwork(msgspec.Struct, frozen=True):
    """The network setup of one interface. ``notes`` say what is not restored, one sentence each."""

    mac: str
    name: str
    link: GuestLink
    addresses: tuple[GuestAddress, ...] = ()
    """In the order in which the kernel lists them: IPv4 oldest first, IPv6 newest first."""
    routes: tuple[GuestRoute, ...] = ()
    """Routes other than those that the kernel makes when an address is added."""
    neighbours: tuple[GuestNeighbour, ...] = ()
    notes: tuple[str, ...] = ()
