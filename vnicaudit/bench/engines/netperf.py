"""netperf 2.7 or newer: a stream, or requests and answers, over one connection.

netserver runs at the target, netperf at the peer. TCP_STREAM and UDP_STREAM measure traffic that
the target receives (rx), TCP_MAERTS traffic that it sends (tx); for UDP, only data that arrived
counts. The warm-up is a separate run: netperf cannot leave out a beginning. Its histogram has steps
of 10 % from 100 us on (netlib.h, HIST_NUM_OF_BUCKET), too coarse to judge by, so percentiles are
details here; the engine rr has better ones. Its CPU figures are not used: its manual calls them
untrustworthy in a guest.

Options: ``request`` and ``response`` (bytes), ``burst`` (requests in transit in addition to the
first), ``nodelay`` (1: no message waits for an acknowledgement, as with TCP_NODELAY; always on with
``burst``), ``port`` (of netserver), ``data_port``.
"""

from __future__ import annotations

from vnicaudit.bench.contract import Ends, Measured, Needs, as_written, over_tcp
from vnicaudit.bench.engines._netperf import command, measuring
from vnicaudit.model.measurement import Workload

PATTERNS = {
    "TCP_STREAM": ("goodput",),
    "TCP_MAERTS": ("goodput",),
    "UDP_STREAM": ("goodput", "loss"),
    "TCP_RR": ("transaction_rate", "latency_mean", "latency_max"),
    "TCP_CRR": ("transaction_rate", "latency_mean", "latency_max"),
    "UDP_RR": ("transaction_rate", "latency_mean", "latency_max"),
}

settled = as_written
transport = over_tcp


def needs(workload: Workload) -> Needs:  # noqa: ARG001
    """netserver at the target, netperf at the peer."""
    return measuring.NEEDS


def check(workload: Workload) -> None:
    """Raises UsageError if netperf cannot run it as written."""
    command.check(workload)


def measure(workload: Workload, ends: Ends) -> Measured:
    """Run once, after a warm-up run."""
    return measuring.measure(workload, ends)
