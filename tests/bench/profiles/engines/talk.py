"""An engine that sends: it takes messages up to 65536 B."""
# ruff: noqa: ARG001 (the contract says what functions are given)

from vnicaudit.bench.contract import Ends, Measured, Needs, nothing_to_prepare, over_tcp
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

PATTERNS = {"tcp": ("goodput",), "udp-pps": ("packet_rate", "loss")}


def needs(workload: Workload) -> Needs:
    return Needs()


def check(workload: Workload) -> None:
    if workload.size is not None and workload.size > 65536:
        raise UsageError(f"messages of {workload.size} B: at most 65536")


prepare = nothing_to_prepare
transport = over_tcp


def measure(workload: Workload, ends: Ends) -> Measured:
    return Measured()
