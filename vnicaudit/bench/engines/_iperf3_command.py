"""Workload in, command lines out.

``-b`` is per stream; UDP without it is 1 Mbit/s. ``-O`` is never used: _iperf3_report.py
gives the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from math import ceil
from typing import NamedTuple
from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.engines._iperf3_report import Way
from vnicaudit.bench.engines._listening import Problems, is_literal, refuse_if
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Workload

IPERF3 = RequiredTool(
    "iperf3",
    {"apt": "iperf3", "dnf": "iperf3", "zypper": "iperf", "apk": "iperf3", "pacman": "iperf3"},
)

_SOCKET_BUFFERS = ("/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max")
_UNSET_BUFFER = 212992
"""Bytes. Linux's own limit (net/core/sock.c, SK_RMEM_MAX), used if it cannot be read, as in a
network namespace of an older kernel."""


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


PER_PROCESS = 125
"""Streams of one client; iperf3 refuses more than 128 (MAX_STREAMS, src/iperf.h)."""
UDP_PAYLOAD = 18
"""Payload in bytes of a 64-byte frame, Ethernet's shortest (14 + 20 + 8 + 18 + 4 FCS)."""

_UDP_BUFFER = 4 * 1024 * 1024
"""Bytes. With the kernel's default, packets are lost in the receiver's socket (esnet/iperf#234,
#509)."""
_SLACK = 2
"""Seconds that several clients run longer, since they do not start at once: before 3.20 the start
of each is known only to the second."""
_CONNECT_MS = 3000
_IDLE, _IDLE_MORE = 30, 5
"""Seconds after which a server without a client ends; more for each further one, as clients come
when all listen."""
_IDLE_SINCE = Iperf3Version(3, 11)
"""The first version whose --one-off server ends in that case (esnet/iperf#1187)."""


class Iperf3Load(NamedTuple):
    """The load of all clients together. ``streams``: of each client; ``rate``: bit/s of all of
    them, 0: as fast as possible; ``seconds``: without the ``warmup``."""

    workload: Workload
    target: Iperf3Install
    peer: Iperf3Install
    streams: tuple[int, ...]
    seconds: int
    warmup: int
    rate: float | None

    @property
    def duration(self) -> int:
        """Duration in seconds that a client is given."""
        return self.warmup + self.seconds + (_SLACK if len(self.streams) > 1 else 0)

    @property
    def ways(self) -> tuple[Way, ...]:
        """Loaded directions, as seen from the target."""
        direction = self.workload.direction
        return ("tx", "rx") if direction == "both" else (direction,)

    @property
    def udp(self) -> bool:
        """True for a UDP load."""
        return self.workload.pattern != "tcp"


def plan(workload: Workload, target: Iperf3Install, peer: Iperf3Install) -> Iperf3Load:
    """The load of a workload between two places."""
    return Iperf3Load(
        workload=workload,
        target=target,
        peer=peer,
        streams=split(workload.connections, workload.generators),
        seconds=int(workload.seconds),
        warmup=ceil(workload.warmup),
        rate=_payload_rate(workload),
    )


def split(connections: int, generators: int) -> tuple[int, ...]:
    """Streams of each client: as even as possible, at most 125."""
    clients = max(generators, ceil(connections / PER_PROCESS))
    return tuple(connections // clients + (n < connections % clients) for n in range(clients))


def servers(plan: Iperf3Load, port: int, address: str) -> tuple[tuple[str, ...], ...]:
    """Commands for a server that ends after its one client, the best one first.

    iperf3 serves whoever comes first, so it listens only where it is reached, by ``address``. All
    addresses are the fallback if the target lacks that one (it is translated on the way); and the
    only choice for an address with a zone, which has a meaning at the peer only, or for a name,
    which may resolve to another address there. Then it has one UDP socket for all addresses, and
    answers from the one that the routes prefer (iperf_udp_accept).
    """
    waits = _IDLE + _IDLE_MORE * (len(plan.streams) - 1)
    idle = ("--idle-timeout", str(waits)) if plan.target.version >= _IDLE_SINCE else ()
    argv = ("iperf3", "-s", "-p", str(port), "--one-off", "-J", "-i", "1", *idle)
    return ((*argv, "-B", address), argv) if is_literal(address) else (argv,)


def client(plan: Iperf3Load, streams: int, address: str, port: int) -> tuple[str, ...]:
    """A client; -R makes the target send."""
    argv = ["iperf3", "-c", address, "-p", str(port), "-J", "-i", "1"]
    argv += ["-t", str(plan.duration), "-P", str(streams), "--connect-timeout", str(_CONNECT_MS)]
    argv += {"rx": [], "tx": ["-R"], "both": ["--bidir"]}[plan.workload.direction]
    return (*argv, *_load(plan), *_options(plan.workload.options))


def size(workload: Workload) -> int | None:
    """Bytes of a message; None: iperf3's own choice (128 KiB; for UDP, what fits the path)."""
    if workload.size is None and workload.pattern == "udp-pps":
        return UDP_PAYLOAD
    return workload.size


def payload(plan: Iperf3Load) -> int:
    """Bytes of a message of ``udp-pps``, which always has a size."""
    return size(plan.workload) or UDP_PAYLOAD


def buffer(plan: Iperf3Load) -> str | None:
    """The socket buffer requested at both ends; None: the system's own."""
    if not plan.udp or "window" in plan.workload.options:
        return plan.workload.options.get("window")
    return str(min(_UDP_BUFFER, plan.target.buffer, plan.peer.buffer))


def _payload_rate(workload: Workload) -> float | None:
    """The rate of the payload in bit/s, which is the unit of ``-b``."""
    if workload.rate is None or workload.pattern != "udp-pps":
        return workload.rate
    return 8 * (size(workload) or UDP_PAYLOAD) * workload.rate


def _load(plan: Iperf3Load) -> list[str]:
    argv = ["-u"] if plan.udp else []
    if plan.rate is not None:
        argv += ["-b", str(int(plan.rate / sum(plan.streams)))]
    if (message := size(plan.workload)) is not None:
        argv += ["-l", str(message)]
    if (wanted := buffer(plan)) is not None:
        argv += ["-w", wanted]
    return argv


def _options(options: dict[str, str]) -> list[str]:
    argv = []
    for option, flag in (("congestion", "-C"), ("mss", "-M")):
        if option in options:
            argv += [flag, options[option]]
    return argv


_TCP_SIZES = (1, 1024 * 1024)
"""MAX_BLOCKSIZE of iperf3's src/iperf.h."""
_UDP_SIZES = (16, 65507)
"""MIN_UDP_BLOCKSIZE and MAX_UDP_BLOCKSIZE: iperf3's own header, and the most that IPv4 carries."""
_LONGEST = 86400
"""MAX_TIME, seconds."""
_LOWEST = 1
"""Lowest rate of a stream: 0 would mean as fast as possible."""
_HIGHEST = 1e15

_NUMBER = r"[1-9][0-9]{0,9}"
_OPTIONS: dict[str, str] = {
    "congestion": r"[a-z0-9_]{1,15}",
    "window": rf"{_NUMBER}[KM]?",
    "mss": r"[1-9][0-9]{1,4}",
    "port": r"[1-9][0-9]{0,4}",
}
"""Option -> its allowed values."""
_TCP_ONLY = ("congestion", "mss")
_LARGEST_PORT = 65535
_LARGEST_WINDOW = 512 * 1024 * 1024
"""MAX_TCP_BUFFER, bytes."""
_MSS = (88, 32767)
"""Linux refuses smaller ones (TCP_MIN_MSS), iperf3 larger ones (MAX_MSS)."""


def check(workload: Workload, patterns: Mapping[str, object]) -> None:
    """Raises UsageError if a workload cannot be run as written."""
    refuse_if(
        workload,
        *_problems(workload, patterns),
        *_rate_problems(workload),
        *_option_problems(workload),
    )


def _problems(workload: Workload, patterns: Mapping[str, object]) -> Problems:
    pattern, connections, generators = workload.pattern, workload.connections, workload.generators
    yield (
        pattern not in patterns,
        f"iperf3 has no pattern {pattern!r}; it has {', '.join(patterns)}",
    )
    few = connections < 1 or generators < 1
    yield few, "there must be at least one connection and one generator"
    yield (
        generators > connections,
        f"{generators} generators cannot share {connections} connections",
    )
    both = pattern == "udp-pps" and workload.direction == "both"
    yield both, "packet rates can be searched only one way at a time, not both"
    low, high = _TCP_SIZES if pattern == "tcp" else _UDP_SIZES
    size = low if workload.size is None else workload.size
    yield not low <= size <= high, f"size {size}: iperf3 takes {low} to {high} bytes for {pattern}"
    seconds, warmup = workload.seconds, workload.warmup
    yield seconds % 1 != 0, f"seconds {seconds:g}: iperf3 takes whole seconds"
    yield seconds < 1, f"seconds {seconds:g}: at least one is needed"
    yield not 0 <= warmup < math.inf, f"warmup {warmup:g}: it must be 0 or more seconds"
    yield warmup + seconds > _LONGEST - 10, f"iperf3 runs for {_LONGEST} seconds at most"


def _rate_problems(workload: Workload) -> Problems:
    if workload.rate is None:
        words = "udp needs a rate: without one it is a flood; to find the highest rate, use udp-pps"
        yield workload.pattern == "udp", words
        return
    rate = workload.rate
    yield not 0 < rate <= _HIGHEST, f"rate {rate:g}: it must be more than 0"
    few = rate < _LOWEST * workload.connections
    yield few, f"rate {rate:g}: that is less than {_LOWEST} for each stream"


def _option_problems(workload: Workload) -> Problems:
    options = workload.options
    for name, value in options.items():
        known = ", ".join(_OPTIONS)
        yield name not in _OPTIONS, f"iperf3 has no option {name!r}; it has {known}"
        wrong = not re.fullmatch(_OPTIONS.get(name, ""), value)
        yield wrong, f"{name}: iperf3 does not accept {value!r}"
        yield name in _TCP_ONLY and workload.pattern != "tcp", f"{name} is for TCP only"
    mss = options.get("mss", "")
    wrong = mss.isdecimal() and not _MSS[0] <= int(mss) <= _MSS[1]
    yield wrong, f"mss {mss}: it must be {_MSS[0]} to {_MSS[1]} bytes"
    window = options.get("window", "1")
    large = bool(re.fullmatch(_OPTIONS["window"], window)) and _bytes(window) > _LARGEST_WINDOW
    yield large, f"window {window}: iperf3 takes 512M at most"
    clients = len(split(max(1, workload.connections), max(1, workload.generators)))
    port = options.get("port", "1")
    last = (int(port) if port.isdecimal() else 1) + clients - 1
    yield (
        last > _LARGEST_PORT,
        f"port: {clients} servers need {clients} ports up to {_LARGEST_PORT}",
    )


def _bytes(text: str) -> int:
    """iperf3's units are powers of 1024 (src/units.c)."""
    return int(text.rstrip("KM")) * {"K": 1024, "M": 1024 * 1024}.get(text[-1], 1)
