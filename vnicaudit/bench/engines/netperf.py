"""netperf 2.7 or newer: a stream, or requests and answers, over one connection.

netserver runs at the target, netperf at the peer. TCP_STREAM and UDP_STREAM are what the target
receives (rx), TCP_MAERTS is what it sends (tx); of UDP, only what arrived counts. The warm-up is a
run of its own: netperf cannot leave out a beginning. Its histogram has steps of 10 % from 100 us
on (netlib.h, HIST_NUM_OF_BUCKET), too coarse to judge by, so percentiles are details here; the
engine rr has better ones. Its CPU figures are not used: its manual calls them untrustworthy in a
guest.

Options: ``request`` and ``response`` (bytes), ``burst`` (requests on their way beside the first),
``nodelay`` (1: no message waits for an acknowledgement, as TCP_NODELAY has it; with ``burst`` it
is so anyway), ``port`` (of netserver), ``data_port``.
"""

from __future__ import annotations

from vnicaudit.bench.engines._netperf.measuring import (
    PATTERNS,
    check,
    measure,
    measurement_of,
    needs,
    settled,
)

__all__ = ["PATTERNS", "check", "measure", "measurement_of", "needs", "settled"]
