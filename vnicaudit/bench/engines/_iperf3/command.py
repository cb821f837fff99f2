"""Workload in, command lines out.

``-b`` is per stream; UDP without it is 1 Mbit/s. ``-O`` is never used (flows.py gives the reason).
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from vnicaudit.bench.engines._iperf3.flows import Way
from vnicaudit.bench.engines._iperf3.places import Iperf3Install, Iperf3Version
from vnicaudit.bench.engines._programs.listening import is_literal
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Workload

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
_IDLE = 30
"""Seconds after which a server without a client ends."""
_IDLE_SINCE = Iperf3Version(3, 11)
"""The first version whose --one-off server ends in that case (esnet/iperf#1187)."""
_BIND_SINCE = Iperf3Version(3, 11)
"""The first version whose --bind-dev applies to TCP streams too (esnet/iperf#1153)."""


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
    """The load of a workload between two places. Raises EndpointError if they cannot run it."""
    if "bind_dev" in workload.options and target.version < _BIND_SINCE:
        raise EndpointError(
            f"bind_dev needs iperf3 {_BIND_SINCE} on the target, which has {target.version}"
        )
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


def listens_at(plan: Iperf3Load, address: str) -> tuple[str, ...]:
    """Addresses that a server may be bound to, the best first; ``""`` stands for all addresses.

    iperf3 serves whoever comes first, so it listens only where it is reached. All addresses are the
    fallback if the target lacks that address (it is translated on the way), unless ``bind`` forbids
    it; and the only choice for an address with a zone, which has a meaning at the peer only, or for
    a name, which may resolve to another address there.
    """
    if plan.workload.options.get("bind") == "yes":
        return (address,)
    return (address, "") if is_literal(address) else ("",)


def server(plan: Iperf3Load, port: int, address: str) -> tuple[str, ...]:
    """A server that ends after its one client. ``address``: the address that it is bound to; empty:
    all, and then it has one UDP socket for all addresses, and answers from the one that the routes
    prefer (iperf_udp_accept)."""
    argv = ["iperf3", "-s", "-p", str(port), "--one-off", "-J", "-i", "1"]
    if plan.target.version >= _IDLE_SINCE:
        argv += ["--idle-timeout", str(_IDLE)]
    if address:
        argv += ["-B", address]
    if device := plan.workload.options.get("bind_dev"):
        argv += ["--bind-dev", device]
    return tuple(argv)


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
    for option, flag in (("congestion", "-C"), ("mss", "-M"), ("dscp", "--dscp")):
        if option in options:
            argv += [flag, options[option]]
    for option, flag in (("zerocopy", "-Z"), ("ipv6", "-6")):
        if options.get(option) == "yes":
            argv.append(flag)
    return argv
