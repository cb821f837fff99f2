"""Servers on the target, clients on the peer: started, awaited, and stopped whatever happens.

Between the start and the end of the clients nothing else is run at either end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.bench.contract import Ends, StartedProgram
from vnicaudit.bench.engines._iperf3 import command, report
from vnicaudit.bench.engines._iperf3.command import Iperf3Load
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

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


class PairRuns(NamedTuple):
    """The outputs of both ends of a pair."""

    client: Ran
    server: Ran


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
