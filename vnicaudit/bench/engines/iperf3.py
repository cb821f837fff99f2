"""iperf3: TCP and UDP streams, in both directions, and the packet rate that UDP can sustain.

The server runs on the target, the client on the peer: the target receives (``rx``) from a plain
client, sends (``tx``) with ``-R``, and does ``both`` with ``--bidir``. A ``rate`` is that of all
streams together, for ``tcp`` and ``udp`` in bit/s, for ``udp-pps`` in packets per second; for
``both``, in each direction. ``udp-pps`` without a rate is a search for the highest at which at most
0.5 % is lost, with a payload of 18 bytes (a frame of 64) unless ``size`` says otherwise.

More than 125 streams are split over several servers, on consecutive ports.

``options``: ``congestion``, ``window``, ``mss`` as iperf3 takes them, ``port`` (the first of the
servers'; otherwise one between 20000 and 30000).

The server serves whoever comes first, without a password: see *Who can reach what is started* in
docs/how-to/bench.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import ceil

from vnicaudit.bench.contract import Ends, Measured, Needs, failed_run, nothing_to_prepare, over_tcp
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import _iperf3_report as report
from vnicaudit.bench.engines import _iperf3_result as result
from vnicaudit.bench.engines import _listening as listening
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

_MARGIN = 30.0
"""Seconds that a client may need to connect and to print its results. iperf3 has no limit of its
own: it waits for ever for a silent other end."""
_LAST_WORDS = 10.0
"""Seconds that a server may need after its client has ended."""
_SLACK = 10.0
"""Seconds for which a server may wait for each other one to listen."""


def run(plan: Iperf3Load, ends: Ends) -> tuple[PairRuns, ...]:
    """Run all pairs and return their output. Raises MeasureError if a server does not listen,
    EndpointError if an end is lost."""
    bound = plan.duration + _MARGIN
    wanted = plan.workload.options.get("port", "")
    tried: Sequence[int] = listening.ports(ends.seed, wanted)
    with ExitStack() as started:
        servers, clients, used = [], [], []
        for _ in plan.streams:
            server, port = listening.start_server(
                ends.target,
                lambda port: command.servers(plan, port, ends.address),
                tried,
                seconds=bound + _SLACK * (5 + len(plan.streams)),
                reason=result.failure_reason,
            )
            started.callback(server.stop)
            servers.append(server)
            used.append(port)
            tried = range(port + 1, port + (2 if wanted else 4))
        for streams, port in zip(plan.streams, used, strict=True):
            argv = command.client(plan, streams, ends.address, port)
            clients.append(ends.peer.start(argv, seconds=bound))
            started.callback(clients[-1].stop)
        ended = [client.wait(bound) for client in clients]
        return tuple(
            PairRuns(ran, server.wait(_LAST_WORDS) if _well(ran) else server.stop())
            for ran, server in zip(ended, servers, strict=True)
        )


def _well(ran: Ran) -> bool:
    """True if a client ended in a way that its server knows of."""
    began = ran.code is not None and report.began(ran.stdout)
    return began and report.failure(ran.stdout) is None


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
