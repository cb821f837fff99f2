"""The ids of workloads: readable, and the same for the same work, whatever else is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.bench.profiles.amounts import short
from vnicaudit.model.measurement import Direction, Workload

_QUERIES = "query_rate"
_ANSWERED = {_QUERIES, "transaction_rate"}


def usual_directions(metrics: Sequence[str]) -> tuple[Direction, ...]:
    """Of a pattern that can be judged by ``metrics``, the usual one first: where requests are
    answered, the load goes both ways."""
    return ("both",) if _ANSWERED & set(metrics) else ("tx", "rx")


def identity(workload: Workload, metrics: Sequence[str], name: str | None) -> str:
    """``iperf3.tcp.tx.c1.64k``, ``rr.rr1c-200x1000.c50``, ``dnsperf.capacity.g2@querylog``: what
    goes without saying of its pattern is left out. ``metrics`` are those of the pattern."""
    state = f"@{workload.state}" if workload.state else ""
    return ".".join(_parts(workload, metrics, name)) + state


def _parts(workload: Workload, metrics: Sequence[str], name: str | None) -> Iterator[str]:
    queries = _QUERIES in metrics
    yield workload.engine
    yield workload.pattern
    if usual_directions(metrics) != (workload.direction,):
        yield workload.direction
    if not queries or workload.connections != workload.generators:
        yield f"c{workload.connections}"
    if queries or workload.generators != 1:
        yield f"g{workload.generators}"
    if workload.size is not None:
        yield short(workload.size, 1024)
    if workload.rate is not None:
        yield f"r{short(workload.rate, 1000)}"
    if name:
        yield name
