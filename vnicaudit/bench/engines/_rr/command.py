"""Both roles of the generator, run against each other once."""

from __future__ import annotations

import re
import secrets
from typing import NamedTuple

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines._patterns import Pattern
from vnicaudit.bench.engines._rr.checks import messages
from vnicaudit.bench.engines._rr.places import Place, place
from vnicaudit.bench.generator.program.seal import sealed
from vnicaudit.model.measurement import Ran, Workload

_SLACK = 40.0
"""Seconds beside those of the run, to connect and to report, after which both ends give up."""
_PORT_SECONDS = 20.0
_END_SECONDS = 5.0
_SOON_SECONDS = 1.0
"""In which a server that lost its client has said so; one that nobody came to waits on."""


class Runs(NamedTuple):
    """What was run. ``client`` None: the ``server`` did not listen."""

    server: Ran
    client: Ran | None


def run_pair(workload: Workload, pattern: Pattern, ends: Ends) -> Runs:
    """A server at the target and a client at the peer, to their end; no server is left."""
    target, peer = place(ends.target), place(ends.peer)
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
            return Runs(server.stop(), None)
        argv = _client(workload, pattern, peer, ends.address, token, int(port[1]), life)
        client = ends.peer.run(argv, seconds=life + _SLACK)
        return Runs(server.wait(_END_SECONDS if client.code == 0 else _SOON_SECONDS), client)
    finally:
        server.stop()


def _server(
    workload: Workload, here: Place, address: str, token: str, port_file: str, life: float
) -> tuple[str, ...]:
    words = [*_shown(here, token), "--deadline", f"{life:g}", "--port-file", port_file]
    words += ["--listen", address, "--port", workload.options.get("port", "0")]
    return here.argv("server", *words)


def _client(
    workload: Workload,
    pattern: Pattern,
    here: Place,
    address: str,
    token: str,
    port: int,
    life: float,
) -> tuple[str, ...]:
    """Numbers are written so that nothing of them is lost."""
    words = [*_shown(here, token), "--deadline", f"{life:g}"]
    words += ["--connect", address, "--port", str(port)]
    words += ["--mode", pattern.mode, "--size", str(pattern.size), "--answer", str(pattern.answer)]
    words += ["--connections", str(workload.connections), "--workers", str(_workers(workload))]
    words += ["--seconds", repr(float(workload.seconds)), "--warmup", repr(float(workload.warmup))]
    return here.argv("client", *words, "--rate", repr(messages(workload, pattern)))


def _shown(here: Place, token: str) -> tuple[str, ...]:
    """The token, as whoever sees command lines may see it."""
    return "--key", here.key_file, "--sealed", sealed(here.key, token)


def _workers(workload: Workload) -> int:
    """0: as many as there are CPUs, at most one for each connection."""
    if "workers" in workload.options:
        return int(workload.options["workers"])
    return workload.generators if workload.generators > 1 else 0
