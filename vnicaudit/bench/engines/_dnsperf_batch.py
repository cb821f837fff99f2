"""One run of all generators of a dnsperf workload, and what it was."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import _dnsperf_options as options
from vnicaudit.bench.engines._dnsperf_run import Generators, StuckError, generators, together
from vnicaudit.bench.engines._dnsperf_text import Statistics, statistics
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran, Workload

_HELD_BACK = 0.8
"""Share of the places that has to be taken, on average, for answers to have held dnsperf back."""
_WRONG = 0.01
"""Share of answers that are errors at which the server does not serve this."""
_MESSAGES = ("-O", "suppress=timeouts,congestion,sendfailed,unexpected")
"""One line for each query lost would be work for the generator, and fill its output."""
_HISTOGRAM = ("-O", "latency-histogram")
_MARGIN = 10.0
"""Seconds beyond those that are measured: to start, and to wait for the last answers. dnsperf does
not always end by itself: 2.10 was seen waiting for ever for answers that came late (its changelog
says that 2.11 no longer counts queries below zero), 2.14 on TCP connections that were refused."""


class Batch(NamedTuple):
    """All generators of one run, together."""

    each: tuple[Statistics, ...]
    seconds: float
    """For which queries were sent."""
    places: int
    """Of all generators."""
    busiest: float | None

    def total(self, name: str) -> int:
        """Of all generators: ``sent``, ``lost``."""
        return sum(getattr(one, name) for one in self.each)

    @property
    def taken(self) -> float:
        """Share of the places that was taken, on average."""
        answered = sum(one.completed * one.mean / 1e6 for one in self.each)
        lost = self.total("lost") * min(options.TIMEOUT, self.seconds)
        return (answered + lost) / self.seconds / self.places

    @property
    def held_back(self) -> bool:
        """Whether it was the answers that kept the generators from sending more."""
        return self.taken >= _HELD_BACK


class Job:
    """One measurement: what it runs, and what is kept of it."""

    def __init__(self, workload: Workload, ends: Ends) -> None:
        self.workload, self.ends = workload, ends
        self.asked = options.asked(workload)
        self.raw: list[Ran] = []
        self.details: dict[str, str | float | int | bool | None] = {}
        self.completed = 0
        self._asking = options.asking(workload, self.asked, ends)
        self._output = ends.peer.put("dnsperf-output", b"")
        said = ends.peer.run(("dnsperf", "-H"))
        self._has = said.stdout + said.stderr

    def run(self, load: options.Load, *, look: bool) -> Batch:
        """Run all generators; with ``look``, see how busy they are and, where this dnsperf can,
        how long each answer took. What got stuck is run once more. Raises MeasureError where one
        of them did not measure."""
        try:
            return self._run(load, look=look)
        except StuckError:
            return self._run(load, look=look)

    def _run(self, load: options.Load, *, look: bool) -> Batch:
        count = self.workload.generators
        argv = options.command(self._asking, load, self._extra(look=look))
        # whole seconds are what every sleep(1) takes
        after = max(int(load.seconds) - 1, 0) if look else 0
        script = together(argv, count=count, output=self._output, look=after)
        found = self._kept(self.ends.peer.run(script, seconds=load.seconds + _MARGIN), argv, after)
        connected = self.asked.transport == "tcp"
        each = tuple(_read(ran, connected=connected) for ran in found.runs)
        batch = Batch(each, load.seconds, count * load.places, found.busiest)
        self.completed += batch.total("completed")
        return batch

    def _extra(self, *, look: bool) -> tuple[str, ...]:
        histogram = look and "latency-histogram" in self._has
        messages = _MESSAGES if "suppress" in self._has else ()
        return (*messages, *(_HISTOGRAM if histogram else ()))

    def _kept(self, ran: Ran, argv: tuple[str, ...], look: int) -> Generators:
        try:
            found = generators(ran, argv, look)
        except MeasureError:
            self.raw.append(ran)
            raise
        self.raw.extend(found.runs)
        return found


def _read(ran: Ran, *, connected: bool) -> Statistics:
    """What one generator measured. Its exit code is 0 whatever happened, unless it never began."""
    if ran.code != 0:
        said = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        raise MeasureError(f"dnsperf ended with exit code {ran.code}: {said[0] if said else ''}")
    return statistics(ran.stdout, connected=connected)


def must_answer(batch: Batch, job: Job) -> None:
    """Raises MeasureError where the server does not answer, or answers with errors."""
    where = f"{job.ends.address} port {job.asked.port} ({job.asked.transport})"
    completed = batch.total("completed")
    if not completed:
        raise MeasureError(f"no query was answered: is there a DNS server at {where}?")
    shares = _shares(batch)
    job.details |= {f"rcode_{code}": share for code, share in shares.items()}
    if batch.total("useful") < (1 - _WRONG) * completed:
        said = ", ".join(f"{code} {share:.0f} %" for code, share in shares.items())
        names = job.asked.queries or ", ".join(job.asked.lines)
        raise MeasureError(f"the server at {where} answers {said}: does it serve {names}?")


def _shares(batch: Batch) -> dict[str, float]:
    """Response code -> per cent of all answers."""
    completed = batch.total("completed")
    codes = dict.fromkeys(code for one in batch.each for code in one.codes)
    return {
        code: round(100 * sum(one.codes.get(code, 0) for one in batch.each) / completed, 2)
        for code in codes
    }
