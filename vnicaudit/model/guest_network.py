"""Network setup of one interface in a running Linux guest, to be restored after the device under it
was replaced.

Addresses and prefixes are written as by :mod:`ipaddress`; names (of tables, protocols, scopes) as
by the guest's own ``ip``. Only settings that can be restored are recorded.
"""

from __future__ import annotations

import msgspec


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
    """One address. ``valid`` and ``preferred`` are seconds left, None: for ever."""

    local: str
    prefix: int
    peer: str | None = None
    broadcast: str | None = None
    scope: str = "global"
    label: str | None = None
    """``eth0:web``; None if it is the interface's name."""
    metric: int | None = None
    protocol: str | None = None
    flags: tuple[str, ...] = ()
    """``nodad``, ``home``, ``mngtmpaddr``, ``noprefixroute``, ``autojoin``."""
    valid: int | None = None
    preferred: int | None = None
    tentative: bool = False
    """The kernel was still checking whether another machine has it."""

    @property
    def inet6(self) -> bool:
        """True for an IPv6 address."""
        return ":" in self.local


class GuestRoute(msgspec.Struct, frozen=True):
    """One route through the interface. ``metrics`` are names and values as ``ip route`` takes
    them; ``expires`` is in seconds."""

    destination: str
    """With the prefix length: ``0.0.0.0/0`` is the default route."""
    type: str = "unicast"
    origin: str | None = None
    """The sources that it applies to (IPv6 ``from``)."""
    gateway: str | None = None
    source: str | None = None
    table: str = "main"
    protocol: str = "boot"
    scope: str = "global"
    metric: int = 0
    tos: str | None = None
    onlink: bool = False
    preference: str | None = None
    expires: int | None = None
    metrics: tuple[tuple[str, str], ...] = ()
    shared: bool = False
    """Another route has the same destination and metric: this one is added behind it."""

    @property
    def inet6(self) -> bool:
        """True for an IPv6 route."""
        return ":" in self.destination


class GuestNeighbour(msgspec.Struct, frozen=True):
    """A permanent neighbour; ``mac`` None: an address for which this machine answers (proxy)."""

    address: str
    mac: str | None = None
    router: bool = False
    protocol: str | None = None


class GuestNetwork(msgspec.Struct, frozen=True):
    """The network setup of one interface. ``notes`` say what is not restored, one sentence each."""

    mac: str
    name: str
    index: int
    link: GuestLink
    addresses: tuple[GuestAddress, ...] = ()
    """In the order in which the kernel lists them: IPv4 oldest first, IPv6 newest first."""
    routes: tuple[GuestRoute, ...] = ()
    """Routes other than those that the kernel makes when an address is added."""
    neighbours: tuple[GuestNeighbour, ...] = ()
    ruled: bool = False
    """Routing rules name the interface: they apply again once it has its name again."""
    notes: tuple[str, ...] = ()
