"""An engine that asks and is answered."""
# ruff: noqa: ARG001 (the contract says what functions are given)

from vnicaudit.bench.contract import Ends, Measured, Needs, nothing_to_prepare, over_tcp
from vnicaudit.model.measurement import Workload

PATTERNS = {
    "capacity": ("query_rate",),
    "rr": ("latency_p50", "latency_p99", "transaction_rate", "goodput"),
}


def needs(workload: Workload) -> Needs:
    return Needs()


def check(workload: Workload) -> None:
    return None


prepare = nothing_to_prepare
transport = over_tcp


def measure(workload: Workload, ends: Ends) -> Measured:
    return Measured()
