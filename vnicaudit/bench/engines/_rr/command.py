"""Workload, checked -> one run of both roles of the generator against each other."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, Ends
from vnicaudit.bench.engines._programs.checks import number_problems
from vnicaudit.bench.engines._rr import filling
from vnicaudit.bench.engines._rr.patterns import Pattern, checked_pattern
from vnicaudit.bench.engines._rr.places import program_at
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran, Workload

CONNECTIONS = 500
"""The most that the program accepts (generator/native/program.c)."""
_LONGEST = 86400
_MOST_MESSAGES = 1e6
"""1/s: more than any generator sends."""
_OPTIONS = {"port": (1, 65535)}
"""Option -> its allowed numbers."""


def checked_workload(workload: Workload) -> Pattern:
    """The pattern of the workload. Raises UsageError if it cannot be run as written."""
    return checked_pattern(workload, "rr", _problems)


def messages(workload: Workload) -> float:
    """Requests offered per second; 0: as many as possible."""
    return workload.rate or 0.0


def _problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    yield from _of_direction(workload)
    yield from _of_connections(workload)
    yield from _of_time(workload)
    yield from _of_rate(workload, pattern)
    yield from number_problems(workload, "rr", _OPTIONS, (filling.OPTION,))
    yield from filling.problems(workload)


def _of_direction(workload: Workload) -> Iterator[str]:
    if workload.direction != "both":
        yield f"direction {workload.direction}: in {workload.pattern} both send, which is both"
    if workload.size is not None:
        yield f"size {workload.size}: the pattern sets the sizes"


def _of_connections(workload: Workload) -> Iterator[str]:
    if not 1 <= workload.connections <= CONNECTIONS:
        yield f"connections {workload.connections}: rr takes 1 to {CONNECTIONS}"
    if workload.generators != 1:
        yield f"generators {workload.generators}: rr has one, with a thread for each connection"


def _of_time(workload: Workload) -> Iterator[str]:
    if not 0 < workload.seconds <= _LONGEST:
        yield f"seconds {workload.seconds:g}: must be more than 0, and at most a day"
    if not 0 <= workload.warmup <= _LONGEST:
        yield f"warmup {workload.warmup:g}: must be 0 or more seconds, and at most a day"


def _of_rate(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if workload.rate is None:
        return
    if pattern.mode == "crr":
        yield f"rate {workload.rate:g}: new connections are always made as fast as possible"
    if not (math.isfinite(workload.rate) and 1 <= messages(workload) <= _MOST_MESSAGES):
        yield (
            f"rate {workload.rate:g}: must be at least one message a second, and at most a million"
        )


_SLACK = 40.0
"""Seconds in addition to those of the run, to connect and to report, after which both ends time
out."""
_PORT_SECONDS = 20.0
_END_SECONDS = 5.0
_SOON_SECONDS = 1.0
"""Time in which a server that lost its client has reported that; one without a client waits on."""


class RrRuns(NamedTuple):
    """Runs of both programs. ``client`` None: the ``server`` did not listen."""

    server: Ran
    client: Ran | None


def run_pair(workload: Workload, pattern: Pattern, ends: Ends) -> RrRuns:
    """Run a server at the target and a client at the peer to their end; no server is left. Raises
    EndpointError, and MeasureError if the program cannot be built for an end, or run there."""
    target, peer = program_at(ends.target), program_at(ends.peer)
    port_file, key_file = (f"{path}.{secrets.token_hex(4)}" for path in (target, peer))
    life = workload.warmup + workload.seconds + _SLACK
    listen = ("--listen", ends.address, "--port", workload.options.get("port", "0"))
    server = ends.target.start(
        (target, "server", "--deadline", f"{life:g}", "--port-file", port_file, *listen),
        seconds=life + _SLACK,
    )
    try:
        asked = ends.target.run((target, "port", port_file), seconds=_PORT_SECONDS)
        told = re.fullmatch(r"([1-9]\d{0,4}) ([0-9a-f]{32})\n", asked.stdout)
        if asked.code != 0 or told is None:
            return RrRuns(server.stop(), None)
        sealed = _sealed(ends.peer, peer, key_file, told[2])
        argv = _client(workload, pattern, ends.address, int(told[1]), life)
        client = ends.peer.run(
            (peer, "client", "--key", key_file, "--sealed", sealed, *argv), seconds=life + _SLACK
        )
        return RrRuns(server.wait(_END_SECONDS if client.code == 0 else _SOON_SECONDS), client)
    finally:
        server.stop()


def _sealed(end: Endpoint, program: str, key_file: str, token: str) -> str:
    """The token for a command line, which everybody there can see: with a key of this one run,
    which the end draws and keeps in a file for its user alone."""
    ran = end.run((program, "key", key_file))
    if ran.code != 0 or re.fullmatch(r"[0-9a-f]{32}\n", ran.stdout) is None:
        raise EndpointError(f"{end.url}: the generator has no key there")
    return f"{int(token, 16) ^ int(ran.stdout, 16):032x}"


def _client(
    workload: Workload, pattern: Pattern, address: str, port: int, life: float
) -> tuple[str, ...]:
    """Numbers are written without loss of precision."""
    words = ["--deadline", f"{life:g}", "--connect", address, "--port", str(port)]
    words += ["--mode", pattern.mode, "--size", str(pattern.size), "--answer", str(pattern.answer)]
    words += ["--connections", str(workload.connections), "--rate", repr(messages(workload))]
    words += ["--seconds", repr(float(workload.seconds)), "--warmup", repr(float(workload.warmup))]
    return tuple(words)
