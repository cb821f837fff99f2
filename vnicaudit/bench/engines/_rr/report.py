"""Output of the generator: one line of JSON."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from vnicaudit.bench.engines._programs.listening import client_error
from vnicaudit.bench.engines._rr.command import Pattern
from vnicaudit.bench.histogram import Histogram
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.decoding import json_decoder

Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class WorkerReport(msgspec.Struct, frozen=True):
    """One thread, with a connection. ``cpu``: share of the time that it had a CPU; ``kernel``: the
    part of that in the kernel; ``wait``: share of the time that it waited for a CPU; ``sum``,
    ``max``: of latencies, in nanoseconds; ``waiting``: requests without an answer when the time was
    over, ``oldest``: seconds that the oldest of them had waited."""

    bytes: Count
    transactions: Count
    cpu: Share
    wait: Share
    late: Count
    kernel: Share = 0.0
    sum: Count = 0
    max: Count = 0
    waiting: Count = 0
    oldest: Share = 0.0

    @property
    def busy(self) -> float:
        """Share of the time that it had a CPU, or waited for one."""
        return self.cpu + self.wait

    @property
    def own(self) -> float:
        """The part of ``busy`` outside the kernel: the kernel's work is needed for any program on
        this path."""
        return max(self.busy - self.kernel, 0.0)


class _ReportLine(msgspec.Struct):
    error: str
    counts: list[tuple[Count, Count]] = []
    client: list[WorkerReport] = []
    server: list[WorkerReport] = []


class RrReport(NamedTuple):
    """Counts of both ends."""

    client: tuple[WorkerReport, ...]
    server: tuple[WorkerReport, ...]
    latencies: Histogram


_decoder = json_decoder(_ReportLine)


def report_of(text: str, pattern: Pattern) -> RrReport:
    """Parse the output of a client. Raises MeasureError for an incomplete result, or with the error
    in it."""
    line = _decoded_line(text)
    if line.error:
        raise client_error(line.error)
    if not line.client or not line.server:
        raise MeasureError("the generator's result is from one end only")
    report = RrReport(tuple(line.client), tuple(line.server), _latencies(line.counts))
    _check(report, pattern)
    return report


def error_of(text: str) -> str:
    """The error that a role printed; empty if there is none."""
    try:
        return _decoded_line(text).error
    except MeasureError:
        return ""


def _decoded_line(text: str) -> _ReportLine:
    if not text.endswith("}\n"):
        raise MeasureError("the generator's result is incomplete")
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeasureError(f"the generator's result cannot be read: {error}") from error


def _latencies(counts: list[tuple[int, int]]) -> Histogram:
    histogram = Histogram()
    for nanoseconds, count in counts:
        histogram.record(nanoseconds, count)
    return histogram


def _check(report: RrReport, pattern: Pattern) -> None:
    """Check that the counts agree. Raises MeasureError if they contradict each other, SilenceError
    if nothing got through."""
    answered = sum(side.transactions for side in report.client)
    if report.latencies.total != answered:
        raise MeasureError("the generator counted more or fewer latencies than answers")
    if not answered:
        raise SilenceError("no request was answered in the measured time")
    carried = answered * (pattern.size + pattern.answer)
    if carried_bytes(report) != carried:
        raise MeasureError("the generator's bytes do not match its answers")


def carried_bytes(report: RrReport) -> int:
    """Payload bytes of requests and answers."""
    return sum(side.bytes for side in report.client)
