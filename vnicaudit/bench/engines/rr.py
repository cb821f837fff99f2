"""Our own generator: requests and answers over TCP, on persistent connections or a new one for
each, with the latency of each; as fast as they go, or at a rate.

The server runs at the target, the client at the peer. For the names of patterns see
``_rr_command.py``, for what is counted and how docs/decisions/0007-own-generator.md. The program
is compiled on this machine for the architecture of each end (:mod:`vnicaudit.bench.generator`) and
copied there. It has a thread for each connection.

Options: ``port`` (of the server, for firewalls; without it the system's choice), ``fill`` (``rx``
or ``tx``: a stream of iperf3 fills the path in that direction, seen from the target, while requests
are made).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Ends, Measured, Needs, failed_run, over_tcp
from vnicaudit.bench.engines import _rr_command as command
from vnicaudit.bench.engines._rr_command import (
    Pattern,
    Patterns,
    RrReport,
    carried_bytes,
    checked_workload,
    error_of,
    program_at,
    report_of,
    run_pair,
)
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.measurement import Ran, Workload

PATTERNS = Patterns(
    rr=(
        "transaction_rate", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
        "latency_max", "goodput",
    ),
    crr=(
        "connection_rate", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
        "latency_max",
    ),
)  # fmt: skip
"""rr1c's ``goodput`` is the payload of requests and answers together."""

_LIMIT = 0.95
"""Share of the time from which the generator itself counts as the bottleneck: a worker had a CPU or
waited for one (both ends on one machine share its CPUs), or the workers of both ends did so in
turns, while the network was idle."""
_OWN = 0.25
"""If they took turns, the share that must be outside the kernel: the kernel may do all of the
sending and receiving, which is part of the measured path."""
_LATE = 0.02
"""Share of the messages that may be sent late."""


def needs(workload: Workload) -> Needs:
    """The tools of the stream that fills the path; the program itself is brought along."""
    return command.NEEDS if command.FILL in workload.options else Needs()


def check(workload: Workload) -> None:
    """Raises UsageError if the workload cannot be run as written."""
    checked_workload(workload)


def prepare(workload: Workload, ends: Sequence[Ends]) -> str:
    """Bring the program to all ends; the remark says why not."""
    try:
        for end in (end for each in ends for end in (each.target, each.peer)):
            program_at(end)
    except MeasureError as error:
        return f"{workload.id} will not be measured: {error}"
    return ""


transport = over_tcp


def measure(workload: Workload, ends: Ends) -> Measured:
    """Run once."""
    pattern = checked_workload(workload)
    measured = _filled if command.FILL in workload.options else _measure
    return measured(workload, pattern, ends)


def _filled(workload: Workload, pattern: Pattern, ends: Ends) -> Measured:
    """One run while a stream fills the path. Most CPU time was used by the stream, so no bytes and
    requests are reported from which a cost could be calculated."""
    found = Measured()
    try:
        with command.filled_path(workload, ends) as client:
            found = _measure(workload, pattern, ends)
            early = not client.running()
            ran = client.stop()
        rate = command.filled_rate(ran, early=early)
    except MeasureError as error:
        return found if found.error else failed_run(error, found.raw)
    details = {**found.details, "fill_rate": rate}
    return replace(found, details=details, bytes=None, transactions=None, raw=(*found.raw, ran))


def _measure(workload: Workload, pattern: Pattern, ends: Ends) -> Measured:
    try:
        server, client = run_pair(workload, pattern, ends)
    except MeasureError as error:
        return failed_run(error)
    raw = tuple(ran for ran in (client, server) if ran is not None)
    try:
        return measurement_of(workload, pattern, _report(server, client, pattern), raw)
    except MeasureError as error:
        return failed_run(error, raw)


def measurement_of(
    workload: Workload, pattern: Pattern, report: RrReport, raw: tuple[Ran, ...]
) -> Measured:
    """The result of a report, in the metrics' units."""
    sides = (*report.client, *report.server)
    # Shares of a connection's time in which a worker of either end was working or waited for a CPU:
    # in total, and outside the kernel. While one end works on a request the other waits for it, so
    # with one connection neither is ever busy all the time.
    busy = sum(side.busy for side in sides) / workload.connections
    own = sum(side.own for side in sides) / workload.connections
    late = sum(side.late for side in report.client)
    limited = (
        max(side.busy for side in sides) >= _LIMIT
        or (busy >= _LIMIT and own >= _OWN)
        or late > _LATE * (workload.rate or 0.0) * workload.seconds
    )
    waits = [100 * max(side.wait for side in end) for end in (report.client, report.server)]
    return Measured(
        values=_values(workload, pattern, report),
        details={
            "waiting": sum(side.waiting for side in report.client),
            "waiting_longest_us": 1e6 * max(side.oldest for side in report.client),
        },
        seconds=workload.seconds,
        bytes=carried_bytes(report),
        transactions=report.answered,
        generator_limited=limited,
        cpu_waits={"target": waits[1], "peer": waits[0]},
        raw=raw,
    )


def _values(workload: Workload, pattern: Pattern, report: RrReport) -> dict[str, float]:
    rate = report.answered / workload.seconds
    if pattern.mode == "crr":
        return {"connection_rate": rate, **_latencies(report)}
    goodput = carried_bytes(report) * 8 / workload.seconds
    return {"goodput": goodput, "transaction_rate": rate, **_latencies(report)}


def _report(server: Ran, client: Ran | None, pattern: Pattern) -> RrReport:
    if client is None:
        where = server.endpoint or "the target"
        raise MeasureError(f"the generator's server did not start on {where}{_reason(server)}")
    if client.code is None:
        raise NoTrafficError("the generator's client did not end in time")
    if not client.stdout and client.code:
        raise MeasureError(f"the generator's client failed{_reason(client)}")
    return report_of(client.stdout, pattern)


def _reason(ran: Ran) -> str:
    """Last message of a failed program, as the end of a sentence; empty without one."""
    said = error_of(ran.stdout) or one_line(ran.stderr, last=True)
    return f": {one_line(said)}" if said else ""


def _latencies(report: RrReport) -> dict[str, float]:
    """Latencies in microseconds. Mean and largest are exact, percentiles to three digits."""
    return {
        "latency_mean": sum(side.sum for side in report.client) / report.answered / 1000,
        "latency_p50": report.percentile(50) / 1000,
        "latency_p99": report.percentile(99) / 1000,
        "latency_p999": report.percentile(99.9) / 1000,
        "latency_max": max(side.max for side in report.client) / 1000,
    }
