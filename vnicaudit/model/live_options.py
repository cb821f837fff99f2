"""Options for reading live hosts and clouds."""

from __future__ import annotations

import msgspec

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
