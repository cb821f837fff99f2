"""Run netperf against netserver: the warm-up, then the test; its result in the metrics' units."""

from __future__ import annotations

import secrets
from math import ceil

from vnicaudit.bench.contract import Ends, Measured, Needs, RequiredTool, failed_run
from vnicaudit.bench.engines._netperf import command
from vnicaudit.bench.engines._netperf.command import TESTS
from vnicaudit.bench.engines._netperf.output import NetperfOutput, parse_output
from vnicaudit.bench.engines._programs.listening import ports, require_success, start_server
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran, Workload

_PACKAGES = {"apt": "netperf"}
"""Debian's package is in non-free before 13 (trixie)."""
NEEDS = Needs(
    target=(RequiredTool("netserver", _PACKAGES),), peer=(RequiredTool("netperf", _PACKAGES),)
)
_SLACK = 30.0
"""Seconds in addition to those of a run, after which it times out."""
_MOST_RECEIVED = 1.001

_Details = dict[str, str | float | int | bool | None]


def measure(workload: Workload, ends: Ends) -> Measured:
    """One run, after a warm-up run."""
    command.check(workload)
    raw: list[Ran] = []
    try:
        _run(workload, ends, raw)
        return measurement_of(workload, parse_output(raw[-1].stdout, workload), tuple(raw))
    except MeasureError as error:
        return failed_run(error, raw)


def measurement_of(workload: Workload, output: NetperfOutput, raw: tuple[Ran, ...]) -> Measured:
    """The result of a test, in metrics' units."""
    seconds = output.number("ELAPSED_TIME")
    if TESTS[workload.pattern].direction == "both":
        found = Measured(
            values={
                "transaction_rate": output.number("TRANSACTION_RATE"),
                "latency_mean": output.number("MEAN_LATENCY"),
                "latency_max": output.number("MAX_LATENCY"),
            },
            details=_request_details(output),
            bytes=output.number("LOCAL_BYTES_SENT") + output.number("LOCAL_BYTES_RECVD"),
            transactions=round(output.number("TRANSACTION_RATE") * seconds),
            seconds=seconds,
            raw=raw,
        )
    else:
        found = _stream(workload, output, raw)
    return found


def _stream(workload: Workload, output: NetperfOutput, raw: tuple[Ran, ...]) -> Measured:
    receiver = TESTS[workload.pattern].received
    values = {"goodput": output.number(f"{receiver}_RECV_THROUGHPUT") * 1000}
    received = output.number(f"{receiver}_BYTES_RECVD")
    if workload.pattern == "UDP_STREAM":
        values["loss"] = _loss(output.number("LOCAL_BYTES_SENT"), received)
    return Measured(
        values=values,
        details=_stream_details(output),
        bytes=received,
        seconds=output.number("ELAPSED_TIME"),
        raw=raw,
    )


def _loss(sent: float, received: float) -> float:
    """Lost bytes in per cent. Except for rounding, no more arrives than was sent."""
    if sent <= 0 or received > sent * _MOST_RECEIVED:
        raise MeasureError("netperf received more than it sent")
    return max(100 * (1 - received / sent), 0.0)


def _run(workload: Workload, ends: Ends, raw: list[Ran]) -> None:
    """Run the test; the last entry of ``raw`` is the output that counts."""
    token = secrets.token_hex(16)
    runs = [ceil(workload.warmup)] * (workload.warmup > 0) + [int(workload.seconds)]
    server, port = start_server(
        ends.target,
        lambda port: command.servers(ends.address, token, port),
        ports(ends.seed, workload.options.get("port", "")),
        seconds=sum(runs) + _SLACK * (len(runs) + 1),
    )
    try:
        for seconds in runs:
            argv = command.client(workload, ends.address, token, port, seconds)
            raw.append(ends.peer.run(argv, seconds=seconds + _SLACK))
            require_success(raw[-1])
    finally:
        server.stop()


def _request_details(output: NetperfOutput) -> _Details:
    names = {"p50": "P50_LATENCY", "p90": "P90_LATENCY", "p99": "P99_LATENCY"}
    details: _Details = {f"latency_{key}": output.number(name) for key, name in names.items()}
    return details | _common_details(output)


def _stream_details(output: NetperfOutput) -> _Details:
    return {
        "sent_bytes": max(output.number("LOCAL_BYTES_SENT"), output.number("REMOTE_BYTES_SENT")),
        # netperf knows this value for the sender, and prints -1 or 0 for the other end
        "message_bytes": output.measured("LOCAL_SEND_SIZE") or output.measured("REMOTE_SEND_SIZE"),
    } | _common_details(output)


def _common_details(output: NetperfOutput) -> _Details:
    return {
        "mss": output.measured("TRANSPORT_MSS"),
        "peer_retransmits": output.measured("LOCAL_TRANSPORT_RETRANS"),
        "target_retransmits": output.measured("REMOTE_TRANSPORT_RETRANS"),
    }
