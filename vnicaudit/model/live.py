"""Records that reading live hosts and clouds yields."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

# Traffic of NICs, as counted by their host.


class NicTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The increase of a running NIC's counters between two readings, ``seconds`` apart, in the
    directions of the guest. None: unknown (the driver does not count it, or it was reset in
    between)."""

    uuid: str
    """The UUID of its domain."""
    device: str
    """The device on the host (``vnet3``)."""
    seconds: float
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    rx_drops: int | None = None
    tx_drops: int | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None

    @property
    def bytes_per_second(self) -> float | None:
        """The sum of both directions; None if one is unknown."""
        return self._rate(self.rx_bytes, self.tx_bytes)

    @property
    def drops_per_second(self) -> float | None:
        """Packets that the host dropped on their way to or from the guest."""
        return self._rate(self.rx_drops, self.tx_drops)

    @property
    def errors_per_second(self) -> float | None:
        """Packets with errors."""
        return self._rate(self.rx_errors, self.tx_errors)

    def _rate(self, one: int | None, other: int | None) -> float | None:
        if one is None or other is None or self.seconds <= 0:
            return None
        return (one + other) / self.seconds


class HostTraffic(msgspec.Struct, frozen=True):
    """The traffic of all NICs of one host whose counters are known."""

    nics: tuple[NicTraffic, ...] = ()


# Options for reading live hosts and clouds.

DEADLINE = 30.0
"""Default timeout of a live host, in seconds."""


class CloudLimits(msgspec.Struct, frozen=True):
    """Limits on reading a cloud: ``rate`` requests per second (None: no limit), and ``total``
    seconds for the whole cloud (None: no limit)."""

    rate: float | None = None
    total: float | None = 3600.0


class LiveOptions(msgspec.Struct, frozen=True):
    """How to read live hosts. ``deadline``: seconds per call; ``agent``: whether to query guest
    agents; ``root``, ``proc`` and ``logs``: paths of this host's devices, processes and QEMU logs;
    ``cloud``: limits on requests to a cloud, in number and time; ``calls``: maximum number of
    concurrent calls to one host (None: few on a local socket, many over a network)."""

    deadline: float = DEADLINE
    agent: bool = False
    root: str = "/"
    proc: str = "/proc"
    logs: str = "/var/log/libvirt/qemu"
    cloud: CloudLimits = CloudLimits()
    calls: int | None = None
    traffic: float | None = None
    """Seconds between two readings of the NICs' counters; None: counters are not read."""


CloudRecord = Server | Image | Flavor
"""A record of a cloud that is judged."""

CloudItem = CloudRecord | ReadError
"""An item that reading a cloud yields."""


class LiveDomain(NamedTuple):
    """A domain and the facts of its host, including the device files that the domain names."""

    domain: Domain
    host: HostConfig


class LiveDefinition(NamedTuple):
    """A domain in its present state, and its persistent definition: parsed, and as text without
    passwords (empty: it has none). ``local``: its host is this machine."""

    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig
    local: bool
    way_back: str = ""
    """How libvirt would alter the definition if it is restored after a change; empty: not at
    all."""
