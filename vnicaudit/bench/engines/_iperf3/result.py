"""The outputs of both ends -> the measured values, for one run or a search.

The highest packet rate of UDP is found by a search (vnicaudit/bench/search.py) whose trials are
short runs of iperf3, each with a server of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import ceil
from statistics import fmean

from vnicaudit.bench.contract import Ends, Measured, failed_run
from vnicaudit.bench.engines._iperf3 import command, flows, pairs
from vnicaudit.bench.engines._iperf3.command import Iperf3Load
from vnicaudit.bench.engines._iperf3.details import (
    Details,
    details,
    generator_cpu,
    limited,
    of_setup,
    sent_packets,
)
from vnicaudit.bench.engines._iperf3.flows import Iperf3Outcome, Pair
from vnicaudit.bench.engines._iperf3.pairs import PairRuns
from vnicaudit.bench.engines._iperf3.report import began, failure, parse
from vnicaudit.bench.readable import one_line
from vnicaudit.bench.search import LoadTrial, Searched, search
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import Ran


def measurement_of(plan: Iperf3Load, said: Sequence[PairRuns]) -> Measured:
    """The result of one run at one load: numbers, or an error."""
    raw = tuple(ran for own in said for ran in own)
    try:
        result = outcome(plan, said)
        values = _values(plan, result)
    except MeasureError as error:
        return failed_run(error, raw)
    return Measured(
        values=values,
        details=details(plan, result),
        seconds=fmean(part.seconds for part in result.parts.values()),
        load_seconds=plan.duration,
        bytes=sum(part.bytes for part in result.parts.values()),
        generator_cpu=generator_cpu(plan, result),
        generator_limited=limited(plan, result),
        raw=raw,
    )


def outcome(plan: Iperf3Load, said: Sequence[PairRuns]) -> Iperf3Outcome:
    """The outcome of a run. Raises MeasureError if a needed number is missing or contradicts
    another."""
    pairs = tuple(_pair(own) for own in said)
    begins = flows.begins(pairs, plan.warmup)
    loaded = {way: tuple(flows.flow(pair, way) for pair in pairs) for way in plan.ways}
    parts = {way: flows.part(own, begins, plan.seconds) for way, own in loaded.items()}
    return Iperf3Outcome(pairs, loaded, parts, begins)


def _values(plan: Iperf3Load, result: Iperf3Outcome) -> dict[str, float]:
    parts = result.parts.values()
    if not all(part.bytes for part in parts):
        raise SilenceError(f"iperf3: nothing arrived in {plan.seconds} s")
    goodput = {"goodput": sum(part.rate for part in parts)}
    if not plan.udp:
        return goodput
    loss = 100 * sum(part.lost_packets for part in parts) / sum(part.offered for part in parts)
    if plan.workload.pattern == "udp-pps":
        return {"packet_rate": sum(part.packet_rate for part in parts), "loss": loss}
    return {**goodput, "loss": loss}


def _pair(said: PairRuns) -> Pair:
    """The reports of a pair. Raises MeasureError with the message of the end that knows most: a
    client of 3.9 does not say why it was refused."""
    client, server = said
    if client.command and client.code is None:
        raise SilenceError(
            f"iperf3 did not end within {client.seconds:.0f} s: {_failure_reason(client)}"
        )
    server_failed = server.code is not None and _failed(server)
    if server_failed and (not _failed(client) or not began(client.stdout)):
        raise MeasureError(f"iperf3 server: {_failure_reason(server)}")
    if _failed(client):
        reason = _failure_reason(client)
        kind = SilenceError if _NOT_CONNECTED.match(reason) else MeasureError
        raise kind(f"iperf3: {reason}")
    return Pair(parse(client.stdout), parse(server.stdout))


_NOT_CONNECTED = re.compile("unable to connect|unable to send control message: Bad file descriptor")
"""The second alternative is 3.9's message for a refused connection."""


def _failed(ran: Ran) -> bool:
    return bool(ran.code) or not ran.stdout.strip() or failure(ran.stdout) is not None


def _failure_reason(ran: Ran) -> str:
    """Reason of a failed run, on one line; its exit status if it gave none."""
    first = one_line(ran.stderr).removeprefix("iperf3: error - ")
    return (
        one_line(failure(ran.stdout) or "") or first or f"exit status {ran.code}, no error output"
    )


_FLOOD_SECONDS = 1.0


Search = Callable[[Callable[[float, float], LoadTrial], float], Searched]
"""Searches for a rate by trials, beginning with a given one."""


def measure_packet_rate(plan: Iperf3Load, ends: Ends, search: Search = search) -> Measured:
    """The highest rate at which hardly any packet is lost, searched from the rate received during a
    second at full speed. Without seconds and bytes: CPU time of a search belongs to many rates."""
    trials = _Trials(plan, ends)
    try:
        flood = trials(0.0, _FLOOD_SECONDS)
        searched = search(trials, flood.answered)
    except MeasureError as error:
        return failed_run(error, trials.raw)
    if not searched.complete or searched.rate <= 0:
        kind = MeasureError if flood.answered else SilenceError
        return failed_run(kind(f"iperf3: {searched.reason}"), trials.raw)
    return Measured(
        values={"packet_rate": searched.rate},
        details={**trials.details, **_of_search(searched, flood)},
        generator_limited=searched.generator_limited,
        raw=tuple(trials.raw),
    )


class _Trials:
    """Offers a rate for some seconds; 0 is as fast as possible."""

    def __init__(self, plan: Iperf3Load, ends: Ends) -> None:
        self._plan, self._ends = plan, ends
        self.raw: list[Ran] = []
        self.details: Details = {}

    def __call__(self, rate: float, seconds: float) -> LoadTrial:
        bits = 8 * command.payload(self._plan) * rate
        plan = self._plan._replace(seconds=ceil(seconds), warmup=0, rate=bits)
        said = pairs.run(plan, self._ends)
        self.raw.extend(ran for own in said for ran in own)
        found = outcome(plan, said)
        (way,) = plan.ways
        (part,) = found.parts.values()
        self.details = of_setup(plan, found.pairs[0])
        sent = sent_packets(found, way)
        return LoadTrial(rate, sent, sent * (1 - part.loss / 100), part.seconds)


def _of_search(searched: Searched, flood: LoadTrial) -> Details:
    return {
        "rate_lower": searched.lower,
        "rate_upper": searched.upper,
        "trials": len(searched.trials),
        "flood_sent": flood.offered,
        "flood_received": flood.answered,
        "search": searched.reason,
    }
