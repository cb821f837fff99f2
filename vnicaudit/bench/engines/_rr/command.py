"""Workload, checked -> one run of both roles of the generator against each other."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines._programs.checks import number_problems
from vnicaudit.bench.engines._rr import choosing, filling
from vnicaudit.bench.engines._rr.patterns import Pattern, checked_pattern
from vnicaudit.bench.engines._rr.places import GeneratorInstall, Language, place
from vnicaudit.bench.generator.program.seal import sealed_token
from vnicaudit.model.measurement import Ran, Workload

CONNECTIONS = 500
WORKERS = 64
"""The most that the program accepts (generator/program/task.py)."""
_LONGEST = 86400
_MOST_MESSAGES = 1e6
"""1/s: more than any generator sends."""
_OPTIONS = {"workers": (1, WORKERS), "port": (1, 65535)}
"""Option -> its allowed numbers."""


def checked_workload(workload: Workload) -> Pattern:
    """The pattern of the workload. Raises UsageError if it cannot be run as written."""
    return checked_pattern(workload, "rr", _problems)


def messages(workload: Workload, pattern: Pattern) -> float:
    """Messages offered per second; 0: as many as possible."""
    if workload.rate is None:
        return 0.0
    return workload.rate if pattern.has_requests else workload.rate / 8 / pattern.size


def _problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    yield from _of_direction(workload, pattern)
    yield from _of_streams(workload)
    yield from _of_time(workload)
    yield from _of_rate(workload, pattern)
    yield from number_problems(workload, "rr", _OPTIONS, (choosing.OPTION, filling.OPTION))
    yield from choosing.problems(workload, pattern)
    yield from filling.problems(workload, pattern)


def _of_direction(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if workload.direction != pattern.direction:
        what = {"tx": "the target sends", "rx": "the target receives", "both": "both send"}
        yield (
            f"direction {workload.direction}: in {workload.pattern} "
            f"{what[pattern.direction]}, which is {pattern.direction}"
        )
    if workload.size is not None:
        yield f"size {workload.size}: the pattern sets the sizes"


def _of_streams(workload: Workload) -> Iterator[str]:
    if not 1 <= workload.connections <= CONNECTIONS:
        yield f"connections {workload.connections}: rr takes 1 to {CONNECTIONS}"
    elif not 1 <= workload.generators <= min(workload.connections, WORKERS):
        yield f"generators {workload.generators}: rr takes 1 to {WORKERS}, one connection for each"


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
    if not (math.isfinite(workload.rate) and 1 <= messages(workload, pattern) <= _MOST_MESSAGES):
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
    EndpointError, and MeasureError if the C program cannot be built."""
    language: Language = "c" if choosing.generator_of(workload) == "c" else "python"
    target, peer = place(ends.target, language), place(ends.peer, language)
    token = secrets.token_hex(16)
    port_file = f"{target.path}.{secrets.token_hex(4)}"
    life = workload.warmup + workload.seconds + _SLACK
    server = ends.target.start(
        _server(workload, target, ends.address, token, port_file, life), seconds=life + _SLACK
    )
    try:
        asked = ends.target.run(target.argv("port", port_file), seconds=_PORT_SECONDS)
        port = re.fullmatch(r"([1-9]\d{0,4})\n", asked.stdout)
        if asked.code != 0 or port is None:
            return RrRuns(server.stop(), None)
        argv = _client(workload, pattern, peer, ends.address, token, int(port[1]), life)
        client = ends.peer.run(argv, seconds=life + _SLACK)
        return RrRuns(server.wait(_END_SECONDS if client.code == 0 else _SOON_SECONDS), client)
    finally:
        server.stop()


def _server(
    workload: Workload,
    here: GeneratorInstall,
    address: str,
    token: str,
    port_file: str,
    life: float,
) -> tuple[str, ...]:
    words = [*_sealed_key_options(here, token), "--deadline", f"{life:g}", "--port-file", port_file]
    words += ["--listen", address, "--port", workload.options.get("port", "0")]
    return here.argv("server", *words)


def _client(
    workload: Workload,
    pattern: Pattern,
    here: GeneratorInstall,
    address: str,
    token: str,
    port: int,
    life: float,
) -> tuple[str, ...]:
    """Numbers are written without loss of precision."""
    words = [*_sealed_key_options(here, token), "--deadline", f"{life:g}"]
    words += ["--connect", address, "--port", str(port)]
    words += ["--mode", pattern.mode, "--size", str(pattern.size), "--answer", str(pattern.answer)]
    words += ["--connections", str(workload.connections), "--workers", str(_workers(workload))]
    words += ["--seconds", repr(float(workload.seconds)), "--warmup", repr(float(workload.warmup))]
    return here.argv("client", *words, "--rate", repr(messages(workload, pattern)))


def _sealed_key_options(here: GeneratorInstall, token: str) -> tuple[str, ...]:
    """The token, sealed for everybody who can see command lines."""
    return "--key", here.key_file, "--sealed", sealed_token(here.key, token)


def _workers(workload: Workload) -> int:
    """Number of workers; 0: one per CPU, at most one per connection."""
    if "workers" in workload.options:
        return int(workload.options["workers"])
    return workload.generators if workload.generators > 1 else 0
