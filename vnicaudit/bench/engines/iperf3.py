"""iperf3: TCP and UDP streams, in both directions, and the packet rate that UDP can sustain.

The server runs on the target, the client on the peer: the target receives (``rx``) from a plain
client, sends (``tx``) with ``-R``, and does ``both`` with ``--bidir``. A ``rate`` is that of all
streams together, for ``tcp`` and ``udp`` in bit/s, for ``udp-pps`` in packets per second; for
``both``, in each direction. ``udp-pps`` without a rate is a search for the highest at which at most
0.5 % is lost, with a payload of 18 bytes (a frame of 64) unless ``size`` says otherwise.

More than 125 streams are split over several servers, on consecutive ports.

``options``: ``congestion``, ``window``, ``mss``, ``dscp`` as iperf3 takes them, ``zerocopy`` and
``ipv6`` (``yes``), ``bind_dev`` (the target's NIC), ``bind`` (``yes``: the server listens only at
the target's address, which UDP to one of several addresses needs; without it, at all addresses if
the target does not have that one, or it is a name), ``port`` (the first of the servers'; otherwise
one between 20000 and 32000).

The server serves whoever comes first, without a password: see *Who can reach what is started* in
docs/how-to/bench.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import ceil

from vnicaudit.bench.contract import (
    Ends,
    Measured,
    Needs,
    StartedProgram,
    failed_run,
    nothing_to_prepare,
    over_tcp,
)
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import _iperf3_report as report
from vnicaudit.bench.engines import _iperf3_result as result
from vnicaudit.bench.engines._iperf3_command import Iperf3Load
from vnicaudit.bench.engines._iperf3_report import PairRuns
from vnicaudit.bench.engines._iperf3_result import Details
from vnicaudit.bench.search import LoadTrial, Searched, search
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.measurement import Ran, Workload

PATTERNS = {
    "tcp": ("goodput",),
    "udp": ("goodput", "loss"),
    "udp-pps": ("packet_rate",),
}


def needs(workload: Workload) -> Needs:  # noqa: ARG001  (other engines need to know)
    """iperf3 at both ends."""
    return Needs(target=(command.IPERF3,), peer=(command.IPERF3,))


def check(workload: Workload) -> None:
    """Raises UsageError if iperf3 cannot run it as written."""
    command.check(workload, PATTERNS)


prepare = nothing_to_prepare
transport = over_tcp


def measure(workload: Workload, ends: Ends) -> Measured:
    """Run once, or search once."""
    plan = command.plan(workload, command.place(ends.target), command.place(ends.peer))
    try:
        if workload.pattern == "udp-pps" and workload.rate is None:
            return measure_packet_rate(plan, ends)
        return result.measurement_of(plan, run(plan, ends))
    except MeasureError as error:
        return failed_run(error)


# Servers on the target, clients on the peer: started, awaited, and stopped whatever happens.
# Between the start and the end of the clients nothing else is run at either end.

_ATTEMPTS = 3
_LISTEN = 10.0
"""Seconds within which servers must listen."""
_PAUSE = 0.05
"""Seconds between two checks that they listen."""
_MARGIN = 30.0
"""Seconds that a client may need to connect and to print its results. iperf3 has no limit of its
own: it waits for ever for a silent other end."""
_LAST_WORDS = 10.0
"""Seconds that a server may need after its client has ended."""
_LOWEST_PORT, _HIGHEST_PORT = 20000, 32000
"""Below the range that Linux itself assigns (ip_local_port_range)."""


def run(plan: Iperf3Load, ends: Ends) -> tuple[PairRuns, ...]:
    """Run all pairs and return their output. If a port is taken, or a client does not get as far as
    starting, everything is tried again on other ports. Raises MeasureError if no server listens,
    EndpointError if an end is lost."""
    said: tuple[PairRuns, ...] = ()
    for first in _ports(plan, ends.seed):
        ports = range(first, first + len(plan.streams))
        if (command.listening(ends.target) or frozenset()).isdisjoint(ports):
            said = _first_that_listens(plan, ends, ports)
            if all(report.began(pair.client.stdout) for pair in said):
                return said
    if not said:
        raise MeasureError(f"port {ports[0]} of {ends.target.url} is already in use")
    return said


def _ports(plan: Iperf3Load, seed: int) -> list[int]:
    """The first port of each attempt."""
    if "port" in plan.workload.options:
        return [int(plan.workload.options["port"])] * _ATTEMPTS
    chance = random.Random(f"{seed} {plan.workload.id}")  # noqa: S311  (nothing secret)
    highest = _HIGHEST_PORT - len(plan.streams)
    return [chance.randint(_LOWEST_PORT, highest) for _ in range(_ATTEMPTS)]


def _first_that_listens(plan: Iperf3Load, ends: Ends, ports: Sequence[int]) -> tuple[PairRuns, ...]:
    said: tuple[PairRuns, ...] = ()
    for address in command.listens_at(plan, ends.address):
        said = _attempt(plan, ends, ports, address)
        if any(pair.client.command for pair in said):  # a client ran, so servers listened
            break
    return said


def _attempt(
    plan: Iperf3Load, ends: Ends, ports: Sequence[int], address: str
) -> tuple[PairRuns, ...]:
    bound = plan.duration + _MARGIN
    with ExitStack() as started:
        servers = []
        for port in ports:
            argv = command.server(plan, port, address)
            servers.append(ends.target.start(argv, seconds=bound + _LISTEN + _LAST_WORDS))
            started.callback(servers[-1].stop)
        if not _await_servers(servers, ports, ends):
            return tuple(PairRuns(_not_run(ends), server.stop()) for server in servers)
        clients = []
        for streams, port in zip(plan.streams, ports, strict=True):
            argv = command.client(plan, streams, ends.address, port)
            clients.append(ends.peer.start(argv, seconds=bound))
            started.callback(clients[-1].stop)
        return _await_ends(clients, servers, bound)


def _await_servers(servers: Sequence[StartedProgram], ports: Sequence[int], ends: Ends) -> bool:
    """Wait until all listen; False if one ended instead. If the listening ports cannot be read, the
    clients have to find out."""
    deadline = time.monotonic() + _LISTEN
    while time.monotonic() < deadline:
        listening = command.listening(ends.target)
        if not all(server.running() for server in servers):
            return False
        if listening is None or listening.issuperset(ports):
            return True
        time.sleep(_PAUSE)
    raise MeasureError(f"iperf3 does not listen on {ends.target.url} after {_LISTEN:g} s")


def _await_ends(
    clients: Sequence[StartedProgram], servers: Sequence[StartedProgram], bound: float
) -> tuple[PairRuns, ...]:
    """Wait for the ends. A server is waited for only if its client ended in a way that both know
    of."""
    ended = [client.wait(bound) for client in clients]
    return tuple(
        PairRuns(ran, server.wait(_LAST_WORDS) if _well(ran) else server.stop())
        for ran, server in zip(ended, servers, strict=True)
    )


def _well(ran: Ran) -> bool:
    began = ran.code is not None and report.began(ran.stdout)
    return began and report.failure(ran.stdout) is None


def _not_run(ends: Ends) -> Ran:
    return Ran((), None, endpoint=ends.peer.url)


# The highest packet rate of UDP is found by a search (vnicaudit/bench/search.py) whose trials are
# short runs of iperf3, each with a server of its own.

_FLOOD_SECONDS = 1.0


Search = Callable[[Callable[[float, float], LoadTrial], float], Searched]
"""Searches for a rate by trials, beginning with a given one."""


def measure_packet_rate(plan: Iperf3Load, ends: Ends, search: Search = search) -> Measured:
    """The highest rate at which hardly any packet is lost, searched from the rate received during a
    second at full speed. Without seconds and bytes: CPU time of a search belongs to many rates."""
    trials = _Trials(plan, ends)
    try:
        flood = trials(0.0, _FLOOD_SECONDS)
        searched = search(trials, flood.answered)
    except MeasureError as error:
        return failed_run(error, trials.raw)
    if not searched.complete or searched.rate <= 0:
        kind = MeasureError if flood.answered else NoTrafficError
        return failed_run(kind(f"iperf3: {searched.reason}"), trials.raw)
    return Measured(
        values={"packet_rate": searched.rate},
        details={
            **trials.details,
            "rate_lower": searched.lower,
            "rate_upper": searched.upper,
            "search": searched.reason,
        },
        generator_limited=searched.generator_limited,
        raw=tuple(trials.raw),
    )


class _Trials:
    """Offers a rate for some seconds; 0 is as fast as possible."""

    def __init__(self, plan: Iperf3Load, ends: Ends) -> None:
        self._plan, self._ends = plan, ends
        self.raw: list[Ran] = []
        self.details: Details = {}

    def __call__(self, rate: float, seconds: float) -> LoadTrial:
        bits = 8 * command.payload(self._plan) * rate
        plan = self._plan._replace(seconds=ceil(seconds), warmup=0, rate=bits)
        said = run(plan, self._ends)
        self.raw.extend(ran for own in said for ran in own)
        found = result.outcome(plan, said)
        (way,) = plan.ways
        (part,) = found.parts.values()
        self.details = result.versions(found.pairs[0])
        sent = result.sent_packets(found, way)
        return LoadTrial(rate, sent, sent * (1 - part.loss / 100), part.seconds)
