"""Workload in, command lines out.

``-f k``: thousands of bits, as two decimals of a million are too few for slow paths. It turns
THROUGHPUT of request tests into bits as well, so their rate is TRANSACTION_RATE.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.engines._addresses import is_literal
from vnicaudit.model.measurement import Direction, Workload


class Test(NamedTuple):
    """One of netperf's. ``says``: what it calls the direction, seen from the client, which is the
    peer. ``size``: the option that sets the sender's message."""

    direction: Direction
    says: str
    protocol: str
    size: str
    received: str
    """Selectors of what the receiver counted begin with this."""


TESTS = {
    "TCP_STREAM": Test("rx", "Send", "TCP", "-m", "REMOTE"),
    "TCP_MAERTS": Test("tx", "Receive", "TCP", "-M", "LOCAL"),
    "UDP_STREAM": Test("rx", "Send", "UDP", "-m", "REMOTE"),
    "TCP_RR": Test("both", "Send|Recv", "TCP", "", ""),
    "TCP_CRR": Test("both", "Connect|Send|Recv", "TCP", "", ""),
    "UDP_RR": Test("both", "Send|Recv", "UDP", "", ""),
}

SELECTORS = (
    "THROUGHPUT", "THROUGHPUT_UNITS", "TRANSACTION_RATE", "PROTOCOL", "DIRECTION",
    "LOCAL_RECV_THROUGHPUT", "REMOTE_RECV_THROUGHPUT",
    "LOCAL_BYTES_SENT", "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT", "REMOTE_BYTES_RECVD",
    "LOCAL_SEND_SIZE", "REMOTE_SEND_SIZE", "REQUEST_SIZE", "RESPONSE_SIZE", "BURST_SIZE",
    "MEAN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY",
    "TRANSPORT_MSS", "LOCAL_TRANSPORT_RETRANS", "REMOTE_TRANSPORT_RETRANS", "ELAPSED_TIME",
)  # fmt: skip
"""What is asked for, of every test (doc/omni_output_list.txt)."""


def servers(address: str, token: str, port: int) -> tuple[tuple[str, ...], ...]:
    """netserver in the foreground: at the address if it has it, else at all. It serves who knows
    the token; ``-N``: no file of debugging output in /tmp."""
    argv = ("netserver", "-D", "-N", "-p", str(port), "-Z", token)
    return ((*argv, "-L", address), argv) if is_literal(address) else (argv,)


def client(
    workload: Workload, address: str, token: str, port: int, seconds: int
) -> tuple[str, ...]:
    """A test. ``-j``: with latencies."""
    argv = ["netperf", "-j", "-P", "0", "-f", "k", "-H", address, "-p", str(port), "-Z", token]
    argv += ["-t", workload.pattern, "-l", str(seconds), "--", *_options(workload)]
    return (*argv, "-k", ",".join(SELECTORS))


def sizes(workload: Workload) -> tuple[int, int]:
    """Bytes of a request and of its answer."""
    options = workload.options
    return int(options.get("request", "1")), int(options.get("response", "1"))


def burst(workload: Workload) -> int:
    """Requests on their way beside the one that there always is."""
    return int(workload.options.get("burst", "0"))


def _options(workload: Workload) -> list[str]:
    test = TESTS[workload.pattern]
    argv = []
    if test.direction == "both":
        argv += ["-r", "{},{}".format(*sizes(workload))]
    elif workload.size is not None:
        argv += [test.size, str(workload.size)]
    if burst(workload):
        # requests would wait for one another's acknowledgement
        argv += ["-b", str(burst(workload)), *(["-D"] if test.protocol == "TCP" else [])]
    if data_port := workload.options.get("data_port"):
        argv += ["-P", f",{data_port}"]
    return argv
