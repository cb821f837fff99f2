"""The options of a dnsperf workload, checked, and the resulting command line."""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

from vnicaudit.bench.contract import Ends
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

OPTIONS = ("name", "queries", "port", "transport", "outstanding", "threads", "search_seconds")

TIMEOUT = 1
"""Seconds after which a query without an answer is lost (-t)."""

_ASKED = re.compile(r"[A-Za-z0-9._*/-]{1,255} [A-Z0-9]{1,16}")
_SOCKETS = 256
"""MAX_SOCKETS of dnsperf, for each thread (src/dnsperf.c)."""
_PLACES = 100
"""Default of dnsperf for the most outstanding queries (-q)."""
_LATENCY = 0.001
"""Latency in seconds assumed for an answer before any was measured."""


class DnsperfOptions(NamedTuple):
    """The options, parsed. ``lines``: the queries, unless ``queries`` names a file at the peer."""

    lines: tuple[str, ...]
    queries: str
    port: int
    transport: Literal["udp", "tcp"]
    outstanding: int | None
    threads: int
    search_seconds: int


def options_of(workload: Workload) -> DnsperfOptions:
    """The options of a workload. Raises UsageError with the name of an invalid one."""
    options = workload.options
    for name in options:
        if name not in OPTIONS:
            raise _wrong(workload, f"no option {name!r}; use {', '.join(OPTIONS)}")
    transport = options.get("transport", "udp")
    if transport not in ("udp", "tcp"):
        raise _wrong(workload, f"option transport must be udp or tcp, not {transport!r}")
    return DnsperfOptions(
        lines=_lines(workload),
        queries=options.get("queries", ""),
        port=_whole_number(workload, "port", 53, 65535),
        transport="udp" if transport == "udp" else "tcp",
        outstanding=_whole_number(workload, "outstanding", 0, 65536) or None,
        threads=_whole_number(workload, "threads", 1, 64),
        search_seconds=_whole_number(workload, "search_seconds", 120, 3600),
    )


def _lines(workload: Workload) -> tuple[str, ...]:
    name, queries = workload.options.get("name", ""), workload.options.get("queries", "")
    if bool(name) == bool(queries):
        raise _wrong(
            workload,
            "set either option name (example.org A) or option queries (path of a query file on "
            "the peer)",
        )
    lines = tuple(line.strip() for line in name.split(",")) if name else ()
    for line in lines:
        if not _ASKED.fullmatch(line):
            raise _wrong(workload, f"option name must be like 'example.org A', not {line!r}")
    return lines


def _whole_number(workload: Workload, name: str, default: int, most: int) -> int:
    text = workload.options.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= most:
        raise _wrong(workload, f"option {name} must be a number from 1 to {most}, not {text!r}")
    return int(text)


def check_shape(workload: Workload, read: DnsperfOptions) -> None:
    """Raises UsageError if generators, connections, rate or direction do not fit."""
    if workload.direction != "both":
        raise _wrong(workload, "direction must be both: queries go one way and answers the other")
    if workload.size is not None:
        raise _wrong(workload, "size cannot be set: the size of a query follows from its name")
    if (workload.rate is None) == (workload.pattern == "rate"):
        raise _wrong(workload, "only pattern rate takes a rate")
    if workload.rate is not None and not workload.generators <= workload.rate < math.inf:
        raise _wrong(workload, "the rate must be at least 1 per second for each generator")
    if workload.seconds < 1:
        raise _wrong(workload, "a run must last at least 1 second")
    _check_sockets(workload, read)


def _check_sockets(workload: Workload, read: DnsperfOptions) -> None:
    most = _SOCKETS * read.threads * workload.generators
    if workload.connections < workload.generators * read.threads:
        raise _wrong(workload, "each thread of each generator needs a connection of its own")
    if workload.connections % workload.generators:
        raise _wrong(
            workload, "the number of connections must be a multiple of the number of generators"
        )
    if workload.connections > most:
        raise _wrong(workload, f"dnsperf has at most {most} connections with so many threads")


def _wrong(workload: Workload, what: str) -> UsageError:
    return UsageError(f"workload {workload.id}: {what}")


def places(
    read: DnsperfOptions, generators: int, rate: float | None, latency: float = _LATENCY
) -> int:
    """The number of queries that a generator may have outstanding.

    It is dnsperf's own 100, plus the queries that may be lost at ``rate`` (0.5 %, each for as long
    as the timeout) and twice those in transit at a ``latency`` in seconds. No more: when it is
    behind schedule, dnsperf sends as fast as it can until all places are taken, and a burst of more
    than a socket buffer holds (about 200 queries, net.core.rmem_default) is lost even on an
    otherwise idle server. Seen with 2.10 and 2.14: at 1000 places, 744 were lost at any rate above
    50,000.
    """
    if read.outstanding is not None:
        return read.outstanding
    if rate is None:
        return _PLACES
    return _PLACES + math.ceil(rate * (0.005 * TIMEOUT + 2 * latency) / generators)


class Load(NamedTuple):
    """The load of one run. ``rate``: for each generator; None: as fast as possible. ``places``: for
    each generator."""

    seconds: float
    rate: int | None
    places: int


def query_file(read: DnsperfOptions, ends: Ends) -> str:
    """The path of the query file at the peer, where it is stored unless it is there already."""
    data = "".join(f"{line}\n" for line in read.lines).encode()
    return read.queries or ends.peer.put_file("dnsperf-queries", data)
