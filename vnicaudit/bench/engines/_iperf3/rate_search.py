"""The packet rate that UDP bears: a search (vnicaudit/bench/search.py) whose trials are short runs
of iperf3, each with a server of its own."""

from __future__ import annotations

from math import ceil

from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engines._iperf3 import command, details, pairs, result
from vnicaudit.bench.engines._iperf3.command import Plan
from vnicaudit.bench.engines._iperf3.details import Details
from vnicaudit.bench.search import Searched, Trial, search
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

_FLOOD_SECONDS = 1.0


def measure_packet_rate(plan: Plan, ends: Ends) -> Measured:
    """The highest rate at which hardly any packet is lost, looked for from what comes through of a
    second at full speed. No seconds and no bytes: CPU time of a search belongs to many rates."""
    trials = _Trials(plan, ends)
    try:
        flood = trials(0.0, _FLOOD_SECONDS)
        searched = search(trials, flood.answered)
    except MeasureError as error:
        return Measured(error=str(error), raw=tuple(trials.raw))
    if not searched.complete or searched.rate <= 0:
        return Measured(error=f"iperf3: {searched.reason}", raw=tuple(trials.raw))
    return Measured(
        values={"packet_rate": searched.rate},
        details={**trials.details, **_of_search(searched, flood)},
        generator_limited=searched.generator_limited,
        raw=tuple(trials.raw),
    )


class _Trials:
    """Offers a rate for some seconds; 0 is as fast as possible."""

    def __init__(self, plan: Plan, ends: Ends) -> None:
        self._plan, self._ends = plan, ends
        self.raw: list[Ran] = []
        self.details: Details = {}

    def __call__(self, rate: float, seconds: float) -> Trial:
        bits = 8 * command.payload(self._plan) * rate
        plan = self._plan._replace(seconds=ceil(seconds), warmup=0, rate=bits)
        said = pairs.run(plan, self._ends)
        self.raw.extend(ran for own in said for ran in own)
        found = result.found(plan, said)
        (way,) = plan.ways
        (part,) = found.parts.values()
        self.details = details.of_setup(plan, found.pairs[0])
        sent = details.sent_packets(found, way)
        return Trial(rate, sent, sent * (1 - part.loss / 100), part.seconds)


def _of_search(searched: Searched, flood: Trial) -> Details:
    return {
        "rate_lower": searched.lower,
        "rate_upper": searched.upper,
        "trials": len(searched.trials),
        "flood_sent": flood.offered,
        "flood_received": flood.answered,
        "search": searched.reason,
    }
