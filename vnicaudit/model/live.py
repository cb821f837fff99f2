"""Live reading: its options, and the definitions it yields."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.host import DEADLINE, CloudLimits, HostConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

CloudRecord = Server | Image | Flavor
"""A record of a cloud that is judged."""

CloudItem = CloudRecord | ReadError
"""An item that reading a cloud yields."""


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
