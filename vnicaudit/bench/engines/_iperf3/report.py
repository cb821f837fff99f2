"""Output of iperf3 with ``-J``, at either end: text in, records out.

Only fields that every version from 3.9 has are required. Sums per interval are not read: 3.9 writes
both directions of ``--bidir`` under the same key (esnet/iperf#952), and UDP's ``end.sum`` is the
sent data. Streams tell their direction (``sender``) in every version. All numbers are read as
floating point: cJSON writes large ones as ``1.5e+15``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import fmean

import msgspec

from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as

_LARGEST_TEXT = 256 * 1024 * 1024
"""Characters. 125 streams print 40 kB per second."""
_FASTEST = 1e15
"""Maximum rate in bit/s; no network is faster."""
_LARGEST = 1e18
"""Maximum of any counter; text that is not a number is rejected too."""
_SHORTEST = 1e-3
"""Shortest interval in seconds for which a rate is calculated; the last interval may be shorter."""
_SECOND = "exiting"
"""The value that a server of 3.9 writes under the same key, after the error."""
_GAP = 0.1
"""Maximum seconds between the end of one interval and the start of the next. The gap is 0 except
for rounding."""


class Stream(msgspec.Struct, frozen=True):
    """One stream in one interval. ``sender``: this end sends."""

    start: float
    end: float
    seconds: float
    bytes: float
    sender: bool
    packets: float | None = None
    lost_packets: float | None = None
    jitter_ms: float | None = None
    retransmits: float | None = None
    rtt: float | None = None
    snd_cwnd: float | None = None


class ReportInterval(msgspec.Struct, frozen=True):
    """Streams between two ticks of ``-i``."""

    streams: tuple[Stream, ...]


_BEFORE = ReportInterval(())
"""Stands for the interval before the first."""


class TestStart(msgspec.Struct, frozen=True):
    """Parameters that both ends agreed on. ``num_streams``: each way; ``blksize``: bytes of a
    message."""

    protocol: str
    num_streams: int
    blksize: int


class Timestamp(msgspec.Struct, frozen=True):
    """Time at which the client connected; with milliseconds from 3.20."""

    timesecs: float
    timemillisecs: float | None = None

    @property
    def seconds(self) -> float:
        """The time in seconds, as exact as it is known."""
        return self.timesecs if self.timemillisecs is None else self.timemillisecs / 1000


class Start(msgspec.Struct, frozen=True):
    """``start`` of a test that got as far as starting."""

    version: str
    cookie: str
    timestamp: Timestamp
    test_start: TestStart
    system_info: str = ""
    tcp_mss_default: float | None = None
    tcp_mss: float | None = None


class Total(msgspec.Struct, frozen=True):
    """Totals of a whole run. ``sender``: the end that prints this sends."""

    bytes: float
    sender: bool
    lost_packets: float | None = None


class EndStream(msgspec.Struct, frozen=True):
    """Totals of a stream over the whole run: TCP has two views of them, UDP one (of the sent
    data)."""

    sender: Total | None = None
    receiver: Total | None = None
    udp: Total | None = None


class Cpu(msgspec.Struct, frozen=True):
    """Per cent of one CPU, of the iperf3 process at this end."""

    host_total: float


class Sum(msgspec.Struct, frozen=True):
    """Totals of all streams in one direction."""

    bytes: float


class TestEnd(msgspec.Struct, frozen=True):
    """``end`` of a test that reached its end."""

    streams: tuple[EndStream, ...]
    cpu_utilization_percent: Cpu
    sum_received: Sum | None = None
    sum_received_bidir_reverse: Sum | None = None
    sender_tcp_congestion: str | None = None


class Iperf3Report(msgspec.Struct, frozen=True):
    """The whole output of one end."""

    start: Start
    intervals: tuple[ReportInterval, ...]
    end: TestEnd


class _Failed(msgspec.Struct, frozen=True):
    error: str | None = None


def parse(text: str) -> Iperf3Report:
    """Parse the output of one end. Raises MeasureError if it failed or is incomplete; the exit
    status of iperf3 shows neither (before 3.14 it is 0 if the connection was refused,
    esnet/iperf#1405)."""
    if len(text) > _LARGEST_TEXT:
        raise MeasureError(f"iperf3 printed more than {_LARGEST_TEXT >> 20} MB")
    if said := failure(text):
        raise MeasureError(f"iperf3: {said}")
    try:
        report = json_as(text, Iperf3Report)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MeasureError(f"iperf3's report is incomplete: {error}") from error
    _check(report)
    return report


def failure(text: str) -> str | None:
    """The error that iperf3 prints; None if there is none, or no complete document."""
    try:
        error = json_as(text, _Failed).error
    except (msgspec.MsgspecError, RecursionError):
        return None
    if error == _SECOND and (earlier := re.search(r'"error":\s*"([^"]+)"', text)):
        error = earlier[1]
    return None if error is None else error.removeprefix("error - ") or "failed"


def began(text: str) -> bool:
    """True if both ends agreed to start, whatever happened then."""
    return '"test_start"' in text


def _check(report: Iperf3Report) -> None:
    """Raises MeasureError for impossible numbers."""
    if not report.intervals:
        raise MeasureError("iperf3's report has no intervals")
    stamp = report.start.timestamp
    if not 0 < stamp.timesecs < _LARGEST or abs(stamp.seconds - stamp.timesecs) > 1:
        raise MeasureError("iperf3's report has no start time")
    for interval in report.intervals:
        for stream in interval.streams:
            _check_stream(stream)
    for earlier, later in pairwise((_BEFORE, *report.intervals)):
        _check_gap(earlier, later)


def _check_gap(earlier: ReportInterval, later: ReportInterval) -> None:
    """Compares each stream with itself: with hundreds of threads, streams are some 100 ms apart."""
    count = len(later.streams)
    if not count or len(earlier.streams) not in (0, count):
        raise MeasureError("iperf3's report has an interval without all streams")
    ends = [stream.end for stream in earlier.streams] or [0.0] * count
    for end, stream in zip(ends, later.streams, strict=True):
        if abs(stream.start - end) > _GAP:
            raise MeasureError(f"iperf3's report has a gap between {end:g} and {stream.start:g} s")


def _check_stream(stream: Stream) -> None:
    numbers = (value for value in msgspec.structs.astuple(stream) if value is not None)
    if not all(abs(number) < _LARGEST for number in numbers):
        raise MeasureError("iperf3's report has invalid numbers")
    seconds = stream.end - stream.start
    counts = (stream.bytes, stream.packets or 0, stream.retransmits or 0, stream.rtt or 0)
    if seconds < 0 or min(counts) < 0:
        raise MeasureError("iperf3's report has negative numbers")
    if abs(seconds - stream.seconds) > _GAP:
        raise MeasureError(f"iperf3's report has {stream.seconds:g} s where {seconds:g} s passed")
    if stream.bytes * 8 / max(seconds, _SHORTEST) > _FASTEST:
        raise MeasureError("iperf3's report has an impossible rate")


def first(interval: ReportInterval) -> float:
    """Start of the interval, in seconds since the test started."""
    return fmean(stream.start for stream in interval.streams)


def last(interval: ReportInterval) -> float:
    """End of the interval."""
    return fmean(stream.end for stream in interval.streams)


def middle(interval: ReportInterval) -> float:
    """Middle of the interval."""
    return (first(interval) + last(interval)) / 2
