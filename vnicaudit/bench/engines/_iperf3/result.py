"""From what both ends said to what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from vnicaudit.bench.contract import Measured
from vnicaudit.bench.engines._iperf3 import flows
from vnicaudit.bench.engines._iperf3.command import Plan
from vnicaudit.bench.engines._iperf3.details import details, generator_cpu, limited
from vnicaudit.bench.engines._iperf3.flows import Found, Pair
from vnicaudit.bench.engines._iperf3.pairs import Said
from vnicaudit.bench.engines._iperf3.report import began, failure, parse
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran


def measured(plan: Plan, said: Sequence[Said]) -> Measured:
    """One run at one load: numbers, or an error."""
    raw = tuple(ran for own in said for ran in own)
    try:
        result = found(plan, said)
        values = _values(plan, result)
    except MeasureError as error:
        return Measured(error=str(error), raw=raw)
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


def found(plan: Plan, said: Sequence[Said]) -> Found:
    """Raises MeasureError where anything that is needed is missing or contradicts itself."""
    pairs = tuple(_pair(own) for own in said)
    begins = flows.begins(pairs, plan.warmup)
    loaded = {way: tuple(flows.flow(pair, way) for pair in pairs) for way in plan.ways}
    parts = {way: flows.part(own, begins, plan.seconds) for way, own in loaded.items()}
    return Found(pairs, loaded, parts, begins)


def _values(plan: Plan, result: Found) -> dict[str, float]:
    parts = result.parts.values()
    if not all(part.bytes for part in parts):
        raise MeasureError(f"iperf3: nothing arrived in {plan.seconds} s")
    goodput = {"goodput": sum(part.rate for part in parts)}
    if not plan.udp:
        return goodput
    loss = 100 * sum(part.lost for part in parts) / sum(part.offered for part in parts)
    if plan.workload.pattern == "udp-pps":
        return {"packet_rate": sum(part.packet_rate for part in parts), "loss": loss}
    return {**goodput, "loss": loss}


def _pair(said: Said) -> Pair:
    """The reports of a pair. Raises MeasureError with the words of the end that knows best: a
    client of 3.9 does not say why it was refused."""
    client, server = said
    if client.command and client.code is None:
        raise MeasureError(f"iperf3 did not end within {client.seconds:.0f} s: {_words(client)}")
    server_failed = server.code is not None and _failed(server)
    if server_failed and (not _failed(client) or not began(client.stdout)):
        raise MeasureError(f"iperf3 server: {_words(server)}")
    if _failed(client):
        raise MeasureError(f"iperf3: {_words(client)}")
    return Pair(parse(client.stdout), parse(server.stdout))


def _failed(ran: Ran) -> bool:
    return bool(ran.code) or not ran.stdout.strip() or failure(ran.stdout) is not None


def _words(ran: Ran) -> str:
    """What a run that failed said."""
    first = ran.stderr.strip().partition("\n")[0].removeprefix("iperf3: error - ")[:200]
    return failure(ran.stdout) or first or f"exit status {ran.code}, and not a word why"
