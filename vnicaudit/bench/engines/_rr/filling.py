"""A stream of iperf3 that fills the path while requests are made: their latency under load.

The stream starts before the requests and is stopped after them. It has to carry data all the time,
or the run is an error: it would show the latency of an idle path.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec

from vnicaudit.bench.contract import Ends, Needs, StartedProgram, one_line
from vnicaudit.bench.engines._iperf3.command import IPERF3
from vnicaudit.bench.engines._programs.listening import is_literal, ports, start_server
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.measurement import Ran, Workload

OPTION = "fill"
DIRECTIONS = ("rx", "tx")
NEEDS = Needs(target=(IPERF3,), peer=(IPERF3,))
_SLACK = 120.0
"""Seconds that the stream would continue after the requests if it were not stopped."""


class _Sum(msgspec.Struct):
    bits_per_second: Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class _Iperf3Interval(msgspec.Struct):
    sum: _Sum


class _Output(msgspec.Struct):
    intervals: list[_Iperf3Interval] = []
    error: str = ""


_decoder = json_decoder(_Output)


class Fill:
    """The stream while it runs."""

    def __init__(self, client: StartedProgram) -> None:
        self._client = client
        self.ran: Ran | None = None
        """The output of its client, after :meth:`end`."""

    def end(self) -> float:
        """Stop the stream; returns the bit/s that it carried. Raises MeasureError if it had ended
        by itself, or carried nothing."""
        early = not self._client.running()
        self.ran = self._client.stop()
        return filled_rate(self.ran, early=early)


def problems(workload: Workload) -> Iterator[str]:
    """Why the path cannot be filled as a workload requests."""
    if OPTION not in workload.options:
        return
    if workload.options[OPTION] not in DIRECTIONS:
        yield f"{OPTION}: {workload.options[OPTION]!r} is unknown; use {', '.join(DIRECTIONS)}"


@contextmanager
def filled_path(workload: Workload, ends: Ends) -> Iterator[Fill]:
    """Fill the path with a stream; its direction is seen from the target. Raises MeasureError if
    its server does not start; nothing of it is left running."""
    life = workload.warmup + workload.seconds + _SLACK
    server, port = start_server(
        ends.target,
        lambda port: _servers(ends.address, port),
        ports(ends.seed, ""),
        seconds=life + _SLACK,
    )
    try:
        argv = ["iperf3", "-c", ends.address, "-p", str(port), "-J", "-i", "1"]
        argv += ["-t", f"{life:.0f}", *(["-R"] if workload.options[OPTION] == "tx" else [])]
        client = ends.peer.start(argv, seconds=life + _SLACK)
        try:
            yield Fill(client)
        finally:
            client.stop()
    finally:
        server.stop()


def _servers(address: str, port: int) -> tuple[tuple[str, ...], ...]:
    """Commands for a server: bound to the address if the target has it, else to all addresses."""
    argv = ("iperf3", "-s", "--one-off", "-p", str(port))
    return ((*argv, "-B", address), argv) if is_literal(address) else (argv,)


def filled_rate(ran: Ran, *, early: bool) -> float:
    """bit/s in the client's output, second by second. Raises MeasureError if it ended too ``early``
    or printed nothing readable, SilenceError if nothing was carried."""
    try:
        output = _decoder.decode(ran.stdout)
    except (msgspec.DecodeError, RecursionError) as error:
        said = one_line(ran.stderr or ran.stdout, last=True)
        raise MeasureError(f"the stream to fill the path failed: {said}") from error
    if early:
        reason = one_line(output.error) or "no reason given"
        raise MeasureError(f"the stream ended before the requests did: {reason}")
    rates = [each.sum.bits_per_second for each in output.intervals]
    if not rates or not any(rates):
        raise SilenceError("the stream to fill the path carried nothing")
    return sum(rates) / len(rates)
