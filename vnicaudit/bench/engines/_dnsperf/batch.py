"""One run of all generators of a dnsperf workload, and its results."""

from __future__ import annotations

from typing import Literal, NamedTuple

from vnicaudit.bench.contract import Endpoint, Ends
from vnicaudit.bench.engines._dnsperf import options as options
from vnicaudit.bench.engines._dnsperf.query_run import (
    Generators,
    StuckError,
    concurrent_command,
    generators,
)
from vnicaudit.bench.engines._dnsperf.text import Statistics, statistics
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import Ran, Workload

_HELD_BACK = 0.8
"""Share of the places that must be taken, on average, for waiting for answers to be what limited
dnsperf."""
_WRONG = 0.01
"""Share of error answers from which the server counts as not serving these names."""
_MESSAGES = ("-O", "suppress=timeouts,congestion,sendfailed,unexpected")
"""A line for each lost query would be work for the generator, and fill its output."""
HISTOGRAM = "latency-histogram"
"""The option of a dnsperf that reports percentiles."""
_MARGIN = 10.0
"""Seconds beyond the measured ones: to start, and to wait for the last answers. dnsperf does not
always end by itself: 2.10 was seen waiting for ever for answers that came late (its changelog says
that 2.11 no longer counts queries below zero), 2.14 on TCP connections that were refused."""


QueryCount = Literal["sent", "completed", "lost_queries", "useful", "unexpected"]
"""Counters of one generator."""


class DnsperfBatch(NamedTuple):
    """All generators of one run, together."""

    statistics: tuple[Statistics, ...]
    seconds: float
    """Time during which queries were sent."""
    places: int
    """Places of all generators together."""
    busiest: float | None

    def total(self, name: QueryCount) -> int:
        """The sum of a counter over all generators."""
        return sum(int(getattr(one, name)) for one in self.statistics)

    @property
    def share_taken(self) -> float:
        """Share of the places that were taken, on average."""
        answered = sum(one.completed * one.mean / 1e6 for one in self.statistics)
        lost = self.total("lost_queries") * min(options.TIMEOUT, self.seconds)
        return (answered + lost) / self.seconds / self.places

    @property
    def held_back(self) -> bool:
        """True if waiting for answers kept the generators from sending more."""
        return self.share_taken >= _HELD_BACK


def extended_options(peer: Endpoint) -> str:
    """dnsperf's help on its extended options (``-O``), of which older versions have fewer."""
    said = peer.run(("dnsperf", "-H"))
    return said.stdout + said.stderr


class DnsperfJob:
    """One measurement: its parameters, and the outputs it keeps."""

    def __init__(self, workload: Workload, ends: Ends) -> None:
        self.workload, self.ends = workload, ends
        self.options = options.options_of(workload)
        self.raw: list[Ran] = []
        self.details: dict[str, str | float | int | bool | None] = {}
        self.completed = 0
        self._query_run = options.query_run(workload, self.options, ends)
        self._output = ends.peer.put_file("dnsperf-output", b"")
        self._has = extended_options(ends.peer)

    def run(self, load: options.Load, *, observed: bool) -> DnsperfBatch:
        """Run all generators; with ``observed``, record how busy they are and, if this dnsperf can,
        how long each answer took. A stuck run is repeated once. Raises MeasureError if a generator
        did not measure."""
        try:
            return self._run(load, observed=observed)
        except StuckError:
            return self._run(load, observed=observed)

    def _run(self, load: options.Load, *, observed: bool) -> DnsperfBatch:
        count = self.workload.generators
        argv = options.command(self._query_run, load, self._extra(observed=observed))
        # every sleep(1) accepts whole seconds
        after = max(int(load.seconds) - 1, 0) if observed else 0
        script = concurrent_command(argv, count=count, output=self._output, observe_after=after)
        found = self._generators(
            self.ends.peer.run(script, seconds=load.seconds + _MARGIN), argv, after
        )
        connected = self.options.transport == "tcp"
        each = tuple(_statistics_of(ran, connected=connected) for ran in found.runs)
        batch = DnsperfBatch(each, load.seconds, count * load.places, found.busiest)
        self.completed += batch.total("completed")
        return batch

    def _extra(self, *, observed: bool) -> tuple[str, ...]:
        histogram = observed and HISTOGRAM in self._has
        messages = _MESSAGES if "suppress" in self._has else ()
        return (*messages, *(("-O", HISTOGRAM) if histogram else ()))

    def _generators(self, ran: Ran, argv: tuple[str, ...], observe_after: int) -> Generators:
        try:
            found = generators(ran, argv, observe_after)
        except MeasureError:
            self.raw.append(ran)
            raise
        self.raw.extend(found.runs)
        return found


def _statistics_of(ran: Ran, *, connected: bool) -> Statistics:
    """Statistics that one generator measured. Raises MeasureError if it did not start; otherwise
    its exit code is always 0."""
    if ran.code != 0:
        said = one_line(ran.stderr.strip() or ran.stdout)
        raise MeasureError(f"dnsperf ended with exit code {ran.code}: {said}")
    return statistics(ran.stdout, connected=connected)


def must_answer(batch: DnsperfBatch, job: DnsperfJob) -> None:
    """Raises MeasureError if the server does not answer, or answers with errors."""
    where = f"{job.ends.address} port {job.options.port} ({job.options.transport})"
    completed = batch.total("completed")
    if not completed:
        raise SilenceError(f"no query was answered: is there a DNS server at {where}?")
    shares = _shares(batch)
    job.details |= {f"rcode_{code}": share for code, share in shares.items()}
    if batch.total("useful") < (1 - _WRONG) * completed:
        said = ", ".join(f"{code} {share:.0f} %" for code, share in shares.items())
        names = job.options.queries or ", ".join(job.options.lines)
        raise MeasureError(f"the server at {where} answers {said}: does it serve {names}?")


def _shares(batch: DnsperfBatch) -> dict[str, float]:
    """Response code -> per cent of all answers."""
    completed = batch.total("completed")
    codes = dict.fromkeys(code for one in batch.statistics for code in one.codes)
    return {
        code: round(100 * sum(one.codes.get(code, 0) for one in batch.statistics) / completed, 2)
        for code in codes
    }
