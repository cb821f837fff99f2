"""Requests of one connection, made by netperf: its TCP_RR is the same work as ``rr1c``, its TCP_CRR
as ``crr``.

Its percentiles are too coarse to judge by, and it does not report how busy it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engines._netperf import command, measuring
from vnicaudit.bench.engines._rr.patterns import Pattern
from vnicaudit.model.measurement import Workload

_METRICS = ("transaction_rate", "connection_rate", "latency_mean", "latency_max", "goodput")
_COSTS = ("_cpu_per_gbit", "_cpu_per_transaction")
"""Suffixes of the metrics that the runner calculates for every engine."""


def problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    """Why netperf cannot run the workload."""
    if not pattern.has_requests or workload.connections != 1 or workload.rate is not None:
        yield "netperf sends requests on one connection only, as fast as it can"
        return
    if "workers" in workload.options:
        yield "netperf has no workers"
    for metric in workload.decides:
        if metric not in _METRICS and not metric.endswith(_COSTS):
            yield f"netperf does not measure {metric} well enough to judge by"
    yield from command.problems(_workload(workload, pattern))


def measure(workload: Workload, pattern: Pattern, ends: Ends) -> Measured:
    """Run once."""
    found = measuring.measure(_workload(workload, pattern), ends)
    if found.error or found.bytes is None or not found.seconds:
        return found
    if pattern.mode == "crr":
        rate = found.values["transaction_rate"]
        others = {name: found.values[name] for name in ("latency_mean", "latency_max")}
        return replace(found, values={"connection_rate": rate, **others})
    values = {**found.values, "goodput": found.bytes * 8 / found.seconds}
    return replace(found, values=values)


def _workload(workload: Workload, pattern: Pattern) -> Workload:
    """The workload in netperf's terms."""
    options = {"request": str(pattern.size), "response": str(pattern.answer), "nodelay": "1"}
    if port := workload.options.get("port"):
        options["port"] = port
    test = "TCP_CRR" if pattern.mode == "crr" else "TCP_RR"
    return replace(workload, engine="netperf", pattern=test, options=options)
