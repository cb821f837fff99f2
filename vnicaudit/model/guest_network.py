"""Network setup of one interface in a running Linux guest, as it is restored after the device under
it was exchanged.

Addresses and prefixes are as :mod:`ipaddress` writes them; names (of tables, protocols, scopes) as
the guest's own ``ip`` does. Only what can be put back has a place here.
"""

from __future__ import annotations

import msgspec


class GuestLink(msgspec.Struct, frozen=True):
    """Settings of the interface itself. ``address_mode`` is how the kernel makes its link-local
    address (``eui64``, ``none``, ``stable_secret``, ``random``); None: it does not speak IPv6."""

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
    """``eth0:web``; None where it is the interface's name."""
    metric: int | None = None
    protocol: str | None = None
    flags: tuple[str, ...] = ()
    """``nodad``, ``home``, ``mngtmpaddr``, ``noprefixroute``, ``autojoin``."""
    valid: int | None = None
    preferred: int | None = None
    tentative: bool = False
    """Whether another machine has it was still being found out."""

    @property
    def inet6(self) -> bool:
        """True for an IPv6 address."""
        return ":" in self.local


class GuestRoute(msgspec.Struct, frozen=True):
    """One route through the interface. ``metrics`` are names and values as ``ip route`` takes
    them; ``expires`` is in seconds."""

    destination: str
    """With its length: ``0.0.0.0/0`` is the default route."""
    type: str = "unicast"
    origin: str | None = None
    """The sources it is for (IPv6 ``from``)."""
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
    """Another route has the same destination and rank: this one is added behind it."""

    @property
    def inet6(self) -> bool:
        """True for an IPv6 route."""
        return ":" in self.destination


class GuestNeighbour(msgspec.Struct, frozen=True):
    """A permanent neighbour; ``mac`` None: an address that is answered for (proxy)."""

    address: str
    mac: str | None = None
    router: bool = False
    protocol: str | None = None


class GuestNetwork(msgspec.Struct, frozen=True):
    """All of one interface. ``notes`` say what is not put back, one sentence each."""

    mac: str
    name: str
    index: int
    link: GuestLink
    addresses: tuple[GuestAddress, ...] = ()
    """In the order the kernel lists them: IPv4 the first one first, IPv6 the last one first."""
    routes: tuple[GuestRoute, ...] = ()
    """Those the kernel does not make by itself when an address is added."""
    neighbours: tuple[GuestNeighbour, ...] = ()
    ruled: bool = False
    """Routing rules name the interface: they hold again once it has its name again."""
    notes: tuple[str, ...] = ()
