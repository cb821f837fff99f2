"""The outputs of both ends -> the measured values, for one run or a search.

The highest packet rate of UDP is found by a search (vnicaudit/bench/search.py) whose trials are
short runs of iperf3, each with a server of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from statistics import fmean
from typing import Literal

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Measured, failed_run
from vnicaudit.bench.engines import _iperf3_report as report
from vnicaudit.bench.engines._iperf3_command import Iperf3Load, Iperf3Version
from vnicaudit.bench.engines._iperf3_report import (
    Iperf3Outcome,
    Pair,
    PairRuns,
    Way,
    began,
    failure,
    parse,
)
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.measurement import Ran

Details = dict[str, str | float | int | bool | None]

_THREADS_SINCE = Iperf3Version(3, 16)
"""The first version with a thread for each stream."""
_BUSY = 95.0
"""Per cent of the CPUs that its threads can use from which the process is fully busy."""
_OFFERED = 0.98
"""A sender that sent a smaller share of the requested load could not send more."""


def details(plan: Iperf3Load, found: Iperf3Outcome) -> Details:
    """The versions, the goodput in each direction, and what was lost. All else that iperf3 reports
    is in its output, which is stored with the run."""
    parts = found.parts.values()
    lost = {
        "packets": round(sum(part.offered for part in parts)),
        "lost_packets": round(sum(part.lost_packets for part in parts)),
    }
    return {
        **versions(found.pairs[0]),
        **{f"goodput_{way}": part.rate for way, part in found.parts.items()},
        **(lost if plan.udp else {}),
    }


def versions(pair: Pair) -> Details:
    """The versions of iperf3 at both ends."""
    client, server = pair.client.start, pair.server.start
    return {"version": client.version, "server_version": server.version}


def limited(plan: Iperf3Load, found: Iperf3Outcome) -> bool:
    """True if the sender was the bottleneck: its threads were busy all the time, or it sent less
    UDP than requested. A target that is busy with a single stream is the subject of the
    measurement: no version of iperf3 uses more threads for that."""
    if plan.udp and plan.rate is not None:
        least = _OFFERED * plan.rate
        return any(8 * _sent_per_second(found, way, "bytes") < least for way in plan.ways)
    return any(_saturated(plan, found, way) for way in plan.ways)


def sent_packets(found: Iperf3Outcome, way: Way) -> float:
    """Packets per second sent in one direction, over the whole run."""
    return _sent_per_second(found, way, "packets")


def _saturated(plan: Iperf3Load, found: Iperf3Outcome, way: Way) -> bool:
    version, cpu = (
        (plan.peer.version, _peer_cpu) if way == "rx" else (plan.target.version, _target_cpu)
    )
    return any(
        cpu(pair) >= _BUSY * _threads(version, streams)
        for pair, streams in zip(found.pairs, plan.streams, strict=True)
        if way == "rx" or streams > 1
    )


def _threads(version: Iperf3Version, streams: int) -> int:
    return streams if version >= _THREADS_SINCE else 1


def _sent_per_second(found: Iperf3Outcome, way: Way, what: Literal["bytes", "packets"]) -> float:
    """A sent amount per second, over the whole run."""
    count = attrgetter(what)
    total: float = sum(
        sum(map(count, flow.sent)) / (flow.sent[-1].end - flow.sent[0].start)
        for flow in found.flows[way]
    )
    return total


def _peer_cpu(pair: Pair) -> float:
    return pair.client.end.cpu_utilization_percent.host_total


def _target_cpu(pair: Pair) -> float:
    return pair.server.end.cpu_utilization_percent.host_total


def measurement_of(plan: Iperf3Load, said: Sequence[PairRuns]) -> Measured:
    """The result of one run at one load: numbers, or an error."""
    raw = tuple(ran for own in said for ran in own)
    try:
        result = outcome(plan, said)
        values = _values(plan, result)
    except MeasureError as error:
        return failed_run(error, raw)
    return Measured(
        values=values,
        details=details(plan, result),
        seconds=fmean(part.seconds for part in result.parts.values()),
        load_seconds=plan.duration,
        bytes=sum(part.bytes for part in result.parts.values()),
        generator_limited=limited(plan, result),
        raw=raw,
    )


def outcome(plan: Iperf3Load, said: Sequence[PairRuns]) -> Iperf3Outcome:
    """The outcome of a run. Raises MeasureError if a needed number is missing or contradicts
    another."""
    pairs = tuple(_pair(own) for own in said)
    begins = report.begins(pairs, plan.warmup)
    loaded = {way: tuple(report.flow(pair, way) for pair in pairs) for way in plan.ways}
    parts = {way: report.part(own, begins, plan.seconds) for way, own in loaded.items()}
    return Iperf3Outcome(pairs, loaded, parts)


def _values(plan: Iperf3Load, result: Iperf3Outcome) -> dict[str, float]:
    parts = result.parts.values()
    if not all(part.bytes for part in parts):
        raise NoTrafficError(f"iperf3: nothing arrived in {plan.seconds} s")
    goodput = {"goodput": sum(part.rate for part in parts)}
    if not plan.udp:
        return goodput
    loss = 100 * sum(part.lost_packets for part in parts) / sum(part.offered for part in parts)
    if plan.workload.pattern == "udp-pps":
        return {"packet_rate": sum(part.packet_rate for part in parts), "loss": loss}
    return {**goodput, "loss": loss}


def _pair(said: PairRuns) -> Pair:
    """The reports of a pair. Raises MeasureError with the message of the end that knows most: a
    client of 3.9 does not say why it was refused."""
    client, server = said
    if client.code is None:
        raise NoTrafficError(
            f"iperf3 did not end within {client.seconds:.0f} s: {failure_reason(client)}"
        )
    server_failed = server.code is not None and _failed(server)
    if server_failed and (not _failed(client) or not began(client.stdout)):
        raise MeasureError(f"iperf3 server: {failure_reason(server)}")
    if _failed(client):
        reason = failure_reason(client)
        kind = NoTrafficError if _NOT_CONNECTED.match(reason) else MeasureError
        raise kind(f"iperf3: {reason}")
    return Pair(parse(client.stdout), parse(server.stdout))


_NOT_CONNECTED = re.compile("unable to connect|unable to send control message: Bad file descriptor")
"""The second alternative is 3.9's message for a refused connection."""


def _failed(ran: Ran) -> bool:
    return bool(ran.code) or not ran.stdout.strip() or failure(ran.stdout) is not None


def failure_reason(ran: Ran) -> str:
    """Reason of a failed run, on one line; its exit status if it gave none."""
    first = one_line(ran.stderr).removeprefix("iperf3: error - ")
    return (
        one_line(failure(ran.stdout) or "") or first or f"exit status {ran.code}, no error output"
    )
