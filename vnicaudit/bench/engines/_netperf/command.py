"""Workload, checked -> command lines.

``-f k``: thousands of bits, as two decimals of a million are too few for slow paths. It turns
THROUGHPUT of request tests into bits as well, so their rate is TRANSACTION_RATE.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.bench.engines._programs.checks import number_problems, require_none
from vnicaudit.bench.engines._programs.listening import is_literal
from vnicaudit.model.measurement import Direction, Workload


class NetperfTest(NamedTuple):
    """One of netperf's tests. ``says``: its name for the direction, as seen from the client, which
    is the peer. ``size``: the option that sets the sender's message size."""

    direction: Direction
    says: str
    protocol: str
    size: str
    received: str
    """Prefix of the selectors for the receiver's counts."""


TESTS = {
    "TCP_STREAM": NetperfTest("rx", "Send", "TCP", "-m", "REMOTE"),
    "TCP_MAERTS": NetperfTest("tx", "Receive", "TCP", "-M", "LOCAL"),
    "UDP_STREAM": NetperfTest("rx", "Send", "UDP", "-m", "REMOTE"),
    "TCP_RR": NetperfTest("both", "Send|Recv", "TCP", "", ""),
    "TCP_CRR": NetperfTest("both", "Connect|Send|Recv", "TCP", "", ""),
    "UDP_RR": NetperfTest("both", "Send|Recv", "UDP", "", ""),
}

SELECTORS = (
    "THROUGHPUT", "THROUGHPUT_UNITS", "TRANSACTION_RATE", "PROTOCOL", "DIRECTION",
    "LOCAL_RECV_THROUGHPUT", "REMOTE_RECV_THROUGHPUT",
    "LOCAL_BYTES_SENT", "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT", "REMOTE_BYTES_RECVD",
    "LOCAL_SEND_SIZE", "REMOTE_SEND_SIZE", "REQUEST_SIZE", "RESPONSE_SIZE", "BURST_SIZE",
    "MEAN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY",
    "TRANSPORT_MSS", "LOCAL_TRANSPORT_RETRANS", "REMOTE_TRANSPORT_RETRANS", "ELAPSED_TIME",
)  # fmt: skip
"""The selectors requested from every test (doc/omni_output_list.txt)."""


def servers(address: str, token: str, port: int) -> tuple[tuple[str, ...], ...]:
    """netserver in the foreground: bound to the address if the target has it, else to all
    addresses. It serves only clients that know the token; ``-N``: no debug log in /tmp."""
    argv = ("netserver", "-D", "-N", "-p", str(port), "-Z", token)
    return ((*argv, "-L", address), argv) if is_literal(address) else (argv,)


def client(
    workload: Workload, address: str, token: str, port: int, seconds: int
) -> tuple[str, ...]:
    """The command line of a test. ``-j``: with latencies."""
    argv = ["netperf", "-j", "-P", "0", "-f", "k", "-H", address, "-p", str(port), "-Z", token]
    argv += ["-t", workload.pattern, "-l", str(seconds), "--", *_options(workload)]
    return (*argv, "-k", ",".join(SELECTORS))


def sizes(workload: Workload) -> tuple[int, int]:
    """Bytes of a request and of its answer."""
    options = workload.options
    return int(options.get("request", "1")), int(options.get("response", "1"))


def burst(workload: Workload) -> int:
    """Requests in transit in addition to the first."""
    return int(workload.options.get("burst", "0"))


def _options(workload: Workload) -> list[str]:
    test = TESTS[workload.pattern]
    argv = []
    if test.direction == "both":
        argv += ["-r", "{},{}".format(*sizes(workload))]
    elif workload.size is not None:
        argv += [test.size, str(workload.size)]
    if burst(workload):
        argv += ["-b", str(burst(workload))]
    # otherwise requests would wait for each other's acknowledgement
    if test.protocol == "TCP" and (burst(workload) or workload.options.get("nodelay") == "1"):
        argv.append("-D")
    if data_port := workload.options.get("data_port"):
        argv += ["-P", f",{data_port}"]
    return argv


_UDP_LARGEST = 65507
_TCP_LARGEST = 16 << 20
_LONGEST = 86400
_OPTIONS = {
    "request": (1, _TCP_LARGEST),
    "response": (1, _TCP_LARGEST),
    "burst": (0, 1024),
    "nodelay": (0, 1),
    "port": (1, 65535),
    "data_port": (1, 65535),
}
"""Option -> its allowed numbers."""
_OF_REQUESTS = ("request", "response", "burst")


def check(workload: Workload) -> None:
    """Raises UsageError if a workload cannot be run as written."""
    require_none(workload, problems(workload))


def problems(workload: Workload) -> Iterator[str]:
    """Why the workload cannot be run as written."""
    test = TESTS.get(workload.pattern)
    if test is None:
        yield f"netperf has no pattern {workload.pattern!r}; it has {', '.join(TESTS)}"
        return
    yield from _of_load(workload, test)
    yield from _of_time(workload)
    yield from _of_options(workload, test)
    yield from _of_size(workload, test)


def _of_load(workload: Workload, test: NetperfTest) -> Iterator[str]:
    if workload.direction != test.direction:
        yield f"direction {workload.direction}: {workload.pattern} is {test.direction}"
    if workload.connections != 1 or workload.generators != 1:
        yield "netperf has one connection; rr and iperf3 have more"
    if workload.rate is not None:
        yield "netperf always runs as fast as it can; rr and iperf3 take a rate"


def _of_time(workload: Workload) -> Iterator[str]:
    if workload.seconds not in range(1, _LONGEST):
        yield f"seconds {workload.seconds:g}: netperf takes whole seconds, 1 or more"
    if not 0 <= workload.warmup < _LONGEST:
        yield f"warmup {workload.warmup:g}: it must be 0 or more seconds"


def _of_options(workload: Workload, test: NetperfTest) -> Iterator[str]:
    yield from number_problems(workload, "netperf", _OPTIONS)
    for name in _OF_REQUESTS if test.direction != "both" else ():
        if name in workload.options:
            yield f"{name} is for tests with requests, not for {workload.pattern}"
    if workload.pattern == "TCP_CRR" and burst(workload):
        yield "burst is not for TCP_CRR: each request has a connection of its own"


def _of_size(workload: Workload, test: NetperfTest) -> Iterator[str]:
    largest = _UDP_LARGEST if test.protocol == "UDP" else _TCP_LARGEST
    if test.direction == "both":
        if workload.size is not None:
            yield "size: tests with requests have the options request and response"
        if max(sizes(workload)) > largest:
            yield f"request, response: {test.protocol} takes {largest} bytes at most"
    elif workload.size is not None and not 1 <= workload.size <= largest:
        yield f"size {workload.size}: {test.protocol} takes 1 to {largest} bytes"
