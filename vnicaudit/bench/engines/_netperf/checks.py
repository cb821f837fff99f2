"""What netperf cannot run, said before anything is started."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.bench.engines._netperf.command import TESTS, Test, burst, sizes
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

_UDP_LARGEST = 65507
_TCP_LARGEST = 16 << 20
_LONGEST = 86400
_OPTIONS = {
    "request": (1, _TCP_LARGEST),
    "response": (1, _TCP_LARGEST),
    "burst": (0, 1024),
    "port": (1, 65535),
    "data_port": (1, 65535),
}
"""Option -> the numbers it may be."""
_OF_REQUESTS = ("request", "response", "burst")


def check(workload: Workload) -> None:
    """Raises UsageError where a workload cannot be run as written."""
    problem = next(_problems(workload), None)
    if problem is not None:
        raise UsageError(f"{workload.id}: {problem}")


def _problems(workload: Workload) -> Iterator[str]:
    test = TESTS.get(workload.pattern)
    if test is None:
        yield f"netperf has no pattern {workload.pattern!r}; it has {', '.join(TESTS)}"
        return
    yield from _of_load(workload, test)
    yield from _of_time(workload)
    yield from _of_options(workload, test)
    yield from _of_size(workload, test)


def _of_load(workload: Workload, test: Test) -> Iterator[str]:
    if workload.direction != test.direction:
        yield f"direction {workload.direction}: {workload.pattern} is {test.direction}"
    if workload.connections != 1 or workload.generators != 1:
        yield "netperf has one connection; rr and iperf3 have more"
    if workload.rate is not None:
        yield "netperf goes as fast as it can; rr and iperf3 take a rate"


def _of_time(workload: Workload) -> Iterator[str]:
    if workload.seconds not in range(1, _LONGEST):
        yield f"seconds {workload.seconds:g}: netperf takes whole seconds, 1 or more"
    if not 0 <= workload.warmup < _LONGEST:
        yield f"warmup {workload.warmup:g}: it must be 0 or more seconds"


def _of_options(workload: Workload, test: Test) -> Iterator[str]:
    for name, value in workload.options.items():
        if name not in _OPTIONS:
            yield f"netperf has no option {name!r}; it has {', '.join(_OPTIONS)}"
            continue
        low, high = _OPTIONS[name]
        if not re.fullmatch(r"[0-9]{1,8}", value) or not low <= int(value) <= high:
            yield f"{name}: {value!r} is not a number from {low} to {high}"
        elif name in _OF_REQUESTS and test.direction != "both":
            yield f"{name} is for tests with requests, not for {workload.pattern}"
    if workload.pattern == "TCP_CRR" and burst(workload):
        yield "burst is not for TCP_CRR: each request has a connection of its own"


def _of_size(workload: Workload, test: Test) -> Iterator[str]:
    largest = _UDP_LARGEST if test.protocol == "UDP" else _TCP_LARGEST
    if test.direction == "both":
        if workload.size is not None:
            yield "size: tests with requests have the options request and response"
        if max(sizes(workload)) > largest:
            yield f"request, response: {test.protocol} takes {largest} bytes at most"
    elif workload.size is not None and not 1 <= workload.size <= largest:
        yield f"size {workload.size}: {test.protocol} takes 1 to {largest} bytes"
