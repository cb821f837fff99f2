"""Checks of a workload for iperf3, before anything is started."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from vnicaudit.bench.engines._iperf3.command import split
from vnicaudit.bench.engines._programs.checks import require_none
from vnicaudit.model.measurement import Workload

_TCP_SIZES = (1, 1024 * 1024)
"""MAX_BLOCKSIZE of iperf3's src/iperf.h."""
_UDP_SIZES = (16, 65507)
"""MIN_UDP_BLOCKSIZE and MAX_UDP_BLOCKSIZE: iperf3's own header, and the most that IPv4 carries."""
_LONGEST = 86400
"""MAX_TIME, seconds."""
_LOWEST = 1
"""Lowest rate of a stream: 0 would mean as fast as possible."""
_HIGHEST = 1e15

_NUMBER = r"[1-9][0-9]{0,9}"
_OPTIONS: dict[str, str] = {
    "congestion": r"[a-z0-9_]{1,15}",
    "window": rf"{_NUMBER}[KM]?",
    "mss": r"[1-9][0-9]{1,4}",
    "zerocopy": "yes|no",
    "bind_dev": r"[A-Za-z0-9_.][A-Za-z0-9_.@:-]{0,14}",
    "bind": "yes|no",
    "dscp": r"[0-9]|[1-5][0-9]|6[0-3]|af[1-4][1-3]|cs[1-7]|ef",
    "ipv6": "yes|no",
    "port": r"[1-9][0-9]{0,4}",
}
"""Option -> its allowed values."""
_TCP_ONLY = ("congestion", "mss", "zerocopy")
_LARGEST_PORT = 65535
_LARGEST_WINDOW = 512 * 1024 * 1024
"""MAX_TCP_BUFFER, bytes."""
_MSS = (88, 32767)
"""Linux refuses smaller ones (TCP_MIN_MSS), iperf3 larger ones (MAX_MSS)."""


def check(workload: Workload, patterns: Mapping[str, object]) -> None:
    """Raises UsageError if a workload cannot be run as written."""
    require_none(workload, _problems(workload, patterns))


def _problems(workload: Workload, patterns: Mapping[str, object]) -> Iterator[str]:
    if workload.pattern not in patterns:
        yield f"iperf3 has no pattern {workload.pattern!r}; it has {', '.join(patterns)}"
    yield from _of_streams(workload)
    yield from _of_size(workload)
    yield from _of_time(workload)
    yield from _of_rate(workload)
    yield from _of_options(workload)


def _of_streams(workload: Workload) -> Iterator[str]:
    if workload.connections < 1 or workload.generators < 1:
        yield "there must be at least one connection and one generator"
    elif workload.generators > workload.connections:
        few = f"{workload.connections} connections"
        yield f"{workload.generators} generators cannot share {few}"
    if workload.pattern == "udp-pps" and workload.direction == "both":
        yield "packet rates can be searched only one way at a time, not both"


def _of_size(workload: Workload) -> Iterator[str]:
    low, high = _TCP_SIZES if workload.pattern == "tcp" else _UDP_SIZES
    if workload.size is not None and not low <= workload.size <= high:
        yield f"size {workload.size}: iperf3 takes {low} to {high} bytes for {workload.pattern}"


def _of_time(workload: Workload) -> Iterator[str]:
    if not math.isfinite(workload.seconds) or workload.seconds != int(workload.seconds):
        yield f"seconds {workload.seconds:g}: iperf3 takes whole seconds"
    elif workload.seconds < 1:
        yield f"seconds {workload.seconds:g}: at least one is needed"
    if not 0 <= workload.warmup < math.inf:
        yield f"warmup {workload.warmup:g}: it must be 0 or more seconds"
    elif workload.warmup + workload.seconds > _LONGEST - 10:
        yield f"iperf3 runs for {_LONGEST} seconds at most"


def _of_rate(workload: Workload) -> Iterator[str]:
    if workload.rate is None:
        if workload.pattern == "udp":
            yield (
                "udp needs a rate: without one it is a flood; to find the highest rate, use udp-pps"
            )
    elif not 0 < workload.rate <= _HIGHEST:
        yield f"rate {workload.rate:g}: it must be more than 0"
    elif workload.rate < _LOWEST * workload.connections:
        yield f"rate {workload.rate:g}: that is less than {_LOWEST} for each stream"


def _of_options(workload: Workload) -> Iterator[str]:
    for name, value in workload.options.items():
        if name not in _OPTIONS:
            yield f"iperf3 has no option {name!r}; it has {', '.join(_OPTIONS)}"
        elif not re.fullmatch(_OPTIONS[name], value):
            yield f"{name}: iperf3 does not accept {value!r}"
        elif name in _TCP_ONLY and workload.pattern != "tcp":
            yield f"{name} is for TCP only"
    if (mss := int(workload.options.get("mss", _MSS[0]))) and not _MSS[0] <= mss <= _MSS[1]:
        yield f"mss {mss}: it must be {_MSS[0]} to {_MSS[1]} bytes"
    if _bytes(workload.options.get("window", "1")) > _LARGEST_WINDOW:
        yield f"window {workload.options['window']}: iperf3 takes 512M at most"
    clients = len(split(workload.connections, workload.generators))
    if int(workload.options.get("port", 1)) + clients - 1 > _LARGEST_PORT:
        yield f"port: {clients} servers need {clients} ports up to {_LARGEST_PORT}"


def _bytes(text: str) -> int:
    """iperf3's units are powers of 1024 (src/units.c)."""
    return int(text.rstrip("KM")) * {"K": 1024, "M": 1024 * 1024}.get(text[-1], 1)
