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

from vnicaudit.bench.contract import Ends, Measured, Needs, failed_run, nothing_to_prepare, over_tcp
from vnicaudit.bench.engines._iperf3 import command, pairs, result
from vnicaudit.bench.engines._iperf3.result import measure_packet_rate
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Workload

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
        return result.measurement_of(plan, pairs.run(plan, ends))
    except MeasureError as error:
        return failed_run(error)
