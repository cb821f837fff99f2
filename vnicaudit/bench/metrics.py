"""The metrics: units, which direction is better, and margins.

Margins are those of measuring.md 2.5: 5 % for throughput, rates and CPU, 10 % for tails of latency,
whose noise is larger. They are stated in every result.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.measurement import Better


class Metric(NamedTuple):
    """``margin``: the share by which it must be worse (or better) to count."""

    name: str
    unit: str
    better: Better
    margin: float
    title: str


_THROUGHPUT = 0.05
_TAIL = 0.10

_COSTS = ("_cpu_per_gbit", "_cpu_per_transaction")

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("goodput", "bit/s", "higher", _THROUGHPUT, "received payload"),
        Metric("packet_rate", "1/s", "higher", _THROUGHPUT, "packets received"),
        Metric("query_rate", "1/s", "higher", _THROUGHPUT, "DNS queries answered"),
        Metric("transaction_rate", "1/s", "higher", _THROUGHPUT, "requests answered"),
        Metric(
            "connection_rate", "1/s", "higher", _THROUGHPUT, "connections made, with a request each"
        ),
        Metric("latency_mean", "us", "lower", _THROUGHPUT, "mean latency"),
        Metric("latency_p50", "us", "lower", _THROUGHPUT, "median latency"),
        Metric("latency_p99", "us", "lower", _TAIL, "99th percentile of latency"),
        Metric("latency_p999", "us", "lower", _TAIL, "99.9th percentile of latency"),
        Metric("latency_max", "us", "lower", _TAIL, "largest latency"),
        Metric("loss", "%", "lower", _TAIL, "packets or queries lost"),
        Metric("host_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "hypervisor CPU per Gbit"),
        Metric("target_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "target CPU per Gbit"),
        Metric("peer_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "peer CPU per Gbit"),
        Metric(
            "host_cpu_per_transaction", "us", "lower", _THROUGHPUT, "hypervisor CPU per request"
        ),
        Metric("target_cpu", "% CPU", "lower", _THROUGHPUT, "target CPU time"),
        Metric("peer_cpu", "% CPU", "lower", _THROUGHPUT, "peer CPU time"),
        Metric("target_cpu_per_transaction", "us", "lower", _THROUGHPUT, "target CPU per request"),
        Metric("peer_cpu_per_transaction", "us", "lower", _THROUGHPUT, "peer CPU per request"),
    )
}
"""The metrics that can be judged, by name; all other output of a tool is detail."""


def is_cost(metric: Metric) -> bool:
    """True for CPU time per Gbit or request, which the runner calculates for every engine from the
    CPU time of both ends and of the hypervisor, if it is known."""
    return metric.name.endswith(_COSTS)
