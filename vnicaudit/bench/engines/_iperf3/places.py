"""Facts about an end that are needed before iperf3 runs there."""

from __future__ import annotations

import re
from typing import NamedTuple
from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.errors import EndpointError

IPERF3 = RequiredTool(
    "iperf3",
    {"apt": "iperf3", "dnf": "iperf3", "zypper": "iperf", "apk": "iperf3", "pacman": "iperf3"},
)

_SOCKET_BUFFERS = ("/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max")
_UNSET_BUFFER = 212992
"""Bytes. Linux's own limit (net/core/sock.c, SK_RMEM_MAX), used if it cannot be read, as in a
network namespace of an older kernel."""
_PORTS = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN = "0A"
"""TCP_LISTEN of the kernel's include/net/tcp_states.h."""


class Iperf3Version(NamedTuple):
    """A version as numbers: 3.9 is older than 3.12."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST = Iperf3Version(3, 7)
"""The first version with --bidir, and with ``sender`` in its JSON."""


class Iperf3Install(NamedTuple):
    """``buffer``: the largest socket buffer that iperf3 may request with -w. The kernel doubles
    what it grants, and iperf3 fails if it gets less than it requested."""

    version: Iperf3Version
    buffer: int


_known: WeakKeyDictionary[Endpoint, Iperf3Install] = WeakKeyDictionary()


def place(endpoint: Endpoint) -> Iperf3Install:
    """The installation of iperf3 at an endpoint, asked for once. Raises EndpointError if iperf3 is
    missing or too old."""
    found = _known.get(endpoint)
    if found is None:
        found = _known[endpoint] = Iperf3Install(_version(endpoint), _buffer(endpoint))
    return found


def version_of(text: str) -> Iperf3Version | None:
    """The version in the output of ``iperf3 --version``: ``iperf 3.12 (cJSON 1.7.15)``."""
    found = re.match(r"iperf (\d{1,4})\.(\d{1,4})", text)
    return Iperf3Version(int(found[1]), int(found[2])) if found else None


def listening(endpoint: Endpoint) -> frozenset[int] | None:
    """TCP ports in use by listening sockets there; None if that cannot be read."""
    return ports_of(endpoint.run(("cat", *_PORTS)).stdout)


def ports_of(text: str) -> frozenset[int] | None:
    """The listening ports in /proc/net/tcp: ``sl local_address rem_address st …``, addresses ending
    ``:PORT`` in hex (Documentation/networking/proc_net_tcp.rst)."""
    if not re.match(r"\s*sl\s+local_address", text):
        return None
    found = re.findall(
        rf"^\s*\d+: [0-9A-F]+:([0-9A-F]{{4}}) [0-9A-F]+:[0-9A-F]{{4}} {_LISTEN} ", text, re.M
    )
    return frozenset(int(port, 16) for port in found)


def _version(endpoint: Endpoint) -> Iperf3Version:
    ran = endpoint.run(("iperf3", "--version"))
    version = version_of(ran.stdout)
    if version is None:
        raise EndpointError(
            f"{endpoint.url}: iperf3 cannot be run there; is the package iperf3 installed?"
        )
    if version < OLDEST:
        raise EndpointError(f"{endpoint.url}: iperf3 {version} is too old: {OLDEST} is needed")
    return version


def _buffer(endpoint: Endpoint) -> int:
    words = endpoint.run(("cat", *_SOCKET_BUFFERS)).stdout.split()
    limits = [int(word) for word in words if re.fullmatch(r"[0-9]{1,10}", word)]
    return 2 * (min(limits) if len(limits) == len(_SOCKET_BUFFERS) else _UNSET_BUFFER)
