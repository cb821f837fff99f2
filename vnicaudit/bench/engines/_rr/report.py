"""What the generator prints: one line of JSON."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from vnicaudit.bench.engines._patterns import Pattern
from vnicaudit.bench.histogram import Histogram
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_decoder

Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Side(msgspec.Struct, frozen=True):
    """One worker process. ``cpu``: share of the time that it had a CPU, ``wait``: that it waited
    for one; ``sum``, ``max``: of latencies, nanoseconds; ``waiting``: requests without an answer
    when the time was over, ``oldest``: seconds that the oldest of them had waited."""

    bytes: Count
    transactions: Count
    cpu: Share
    wait: Share
    lost: Count
    late: Count
    sum: Count = 0
    max: Count = 0
    waiting: Count = 0
    oldest: Share = 0.0


class _Line(msgspec.Struct):
    error: str
    counts: list[tuple[Count, Count]] = []
    client: list[Side] = []
    server: list[Side] = []


class Report(NamedTuple):
    """What was counted at both ends. ``latencies``: empty for a stream."""

    client: tuple[Side, ...]
    server: tuple[Side, ...]
    latencies: Histogram


_decoder = json_decoder(_Line)


def report_of(text: str, pattern: Pattern) -> Report:
    """What a client printed. Raises MeasureError for what is not the whole of a result, or the
    error in it."""
    line = _line(text)
    if line.error:
        raise MeasureError(line.error)
    if not line.client or not line.server:
        raise MeasureError("the generator's result lacks an end")
    report = Report(tuple(line.client), tuple(line.server), _latencies(line.counts))
    _check(report, pattern)
    return report


def error_of(text: str) -> str:
    """The error that a role printed; empty where there is none."""
    try:
        return _line(text).error
    except MeasureError:
        return ""


def _line(text: str) -> _Line:
    if not text.endswith("}\n"):
        raise MeasureError("the generator's result is not whole")
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeasureError(f"the generator's result cannot be read: {error}") from error


def _latencies(counts: list[tuple[int, int]]) -> Histogram:
    histogram = Histogram()
    for nanoseconds, count in counts:
        histogram.record(nanoseconds, count)
    return histogram


def _check(report: Report, pattern: Pattern) -> None:
    """What has to be, if it was counted right."""
    answered = sum(side.transactions for side in report.client)
    if report.latencies.total != answered:
        raise MeasureError("the generator counted other latencies than answers")
    if pattern.mode == "rr" and not answered:
        raise MeasureError("no request was answered in the time that counts")
    carried = answered * (pattern.size + pattern.answer)
    if pattern.mode == "rr" and sum(side.bytes for side in report.client) != carried:
        raise MeasureError("the generator counted other bytes than answers")
    if pattern.mode != "rr" and not received(report, pattern):
        raise MeasureError("nothing was received in the time that counts")


def received(report: Report, pattern: Pattern) -> int:
    """Payload bytes: of a stream, what its receiver counted; else of requests and answers."""
    sides = report.server if pattern.mode == "write" else report.client
    return sum(side.bytes for side in sides)
