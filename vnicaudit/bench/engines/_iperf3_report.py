"""Output of iperf3 with ``-J``, at either end: text in, records out.

Only fields that every version from 3.9 has are required. Sums per interval are not read: 3.9 writes
both directions of ``--bidir`` under the same key (esnet/iperf#952), and UDP's ``end.sum`` is the
sent data. Streams tell their direction (``sender``) in every version. All numbers are read as
floating point: cJSON writes large ones as ``1.5e+15``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Literal, NamedTuple

import msgspec

from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import Ran

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


Number = Annotated[float, msgspec.Meta(gt=-_LARGEST, lt=_LARGEST)]
Counter = Annotated[float, msgspec.Meta(ge=0, lt=_LARGEST)]


class Stream(msgspec.Struct, frozen=True):
    """One stream in one interval. ``sender``: this end sends."""

    start: Number
    end: Number
    seconds: Number
    bytes: Counter
    sender: bool
    packets: Counter | None = None
    lost_packets: Number | None = None


class ReportInterval(msgspec.Struct, frozen=True):
    """Streams between two ticks of ``-i``."""

    streams: tuple[Stream, ...]


class TestStart(msgspec.Struct, frozen=True):
    """Parameters that both ends agreed on. ``num_streams``: each way; ``blksize``: bytes of a
    message."""

    protocol: str
    num_streams: int
    blksize: int


class Timestamp(msgspec.Struct, frozen=True):
    """Time at which the client connected; with milliseconds from 3.20."""

    timesecs: Annotated[float, msgspec.Meta(gt=0, lt=_LARGEST)]
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
    """Raises MeasureError for impossible numbers. Each stream is compared with itself: with
    hundreds of threads, streams are some 100 ms apart."""
    stamp = report.start.timestamp
    if abs(stamp.seconds - stamp.timesecs) > 1:
        raise MeasureError("iperf3's report has no start time")
    if not report.intervals:
        raise MeasureError("iperf3's report has no intervals")
    ends: list[float] = []
    for interval in report.intervals:
        count = len(interval.streams)
        if not count or len(ends) not in (0, count):
            raise MeasureError("iperf3's report has an interval without all streams")
        for before, stream in zip(ends or [0.0] * count, interval.streams, strict=True):
            _check_stream(before, stream)
        ends = [stream.end for stream in interval.streams]


def _check_stream(before: float, stream: Stream) -> None:
    """``before``: the end of its interval before this one."""
    if abs(stream.start - before) > _GAP:
        raise MeasureError(f"iperf3's report has a gap between {before:g} and {stream.start:g} s")
    seconds = stream.end - stream.start
    if seconds < 0 or abs(seconds - stream.seconds) > _GAP:
        raise MeasureError(f"iperf3's report has {stream.seconds:g} s where {seconds:g} s passed")
    if stream.bytes * 8 / max(seconds, _SHORTEST) > _FASTEST:
        raise MeasureError("iperf3's report has an impossible rate")


def first(interval: ReportInterval) -> float:
    """Start of the interval, in seconds since the test started."""
    return fmean(stream.start for stream in interval.streams)


def last(interval: ReportInterval) -> float:
    """End of the interval."""
    return fmean(stream.end for stream in interval.streams)


# Traffic by direction and time: from the reports of both ends to the numbers of a window.
#
# The receiver's counts are used. Its intervals are cut to the requested window: at the beginning
# (the warm-up: ``-O`` is not used, as its statistics of UDP were wrong before 3.14,
# esnet/iperf#1489) and at the end, where 3.9 goes on listening for 40 ms. Over the whole run they
# have to add up to the totals that the client was sent at the end, or the report is rejected.


Way = Literal["tx", "rx"]

SHORTEST = 0.95
"""Share of the requested time that must be covered."""
_BYTES_AGREE = 0.02
"""Share by which two counts of the same bytes may differ. They were equal to the byte before there
were threads (3.16); since then, only one of them includes the bytes between the last tick and the
end."""
_PACKETS_AGREE = 0.001
"""Share of all packets by which two counts of lost packets may differ."""
_IN_FLIGHT = 0.25
"""Seconds. Data sent so shortly before the end may be in transit, or in a buffer."""


class Slice(NamedTuple):
    """All streams of one direction in one interval. ``packets``: by sequence numbers, including the
    ``lost_packets``."""

    start: float
    end: float
    bytes: float
    packets: float
    lost_packets: float


class Flow(NamedTuple):
    """One direction of one pair of client and server, over the whole run."""

    sent: tuple[Slice, ...]
    received: tuple[Slice, ...]


class WindowTotals(NamedTuple):
    """Traffic received in the window, over all pairs. ``offered``, ``lost_packets``: packets."""

    seconds: float
    bytes: float
    rate: float
    offered: float
    lost_packets: float

    @property
    def loss(self) -> float:
        """Lost packets in per cent of the offered ones."""
        return 100 * self.lost_packets / self.offered if self.offered else 0.0

    @property
    def packet_rate(self) -> float:
        """Packets received, 1/s."""
        return (self.offered - self.lost_packets) / self.seconds


class PairRuns(NamedTuple):
    """The outputs of both ends of a pair."""

    client: Ran
    server: Ran


class Pair(NamedTuple):
    """The reports of a client (on the peer) and its server (on the target)."""

    client: Iperf3Report
    server: Iperf3Report


class Iperf3Outcome(NamedTuple):
    """The reports of all pairs, and the traffic in each loaded direction: over the whole run, and
    received in the window."""

    pairs: tuple[Pair, ...]
    flows: dict[Way, tuple[Flow, ...]]
    parts: dict[Way, WindowTotals]


def flow(pair: Pair, way: Way) -> Flow:
    """One direction of a pair. Raises MeasureError if its reports contradict each other."""
    if pair.client.start.cookie != pair.server.start.cookie:
        raise MeasureError("the iperf3 server's report is from another test than the client's")
    sender, receiver = (pair.client, pair.server) if way == "rx" else (pair.server, pair.client)
    found = Flow(_slices(sender, sender=True), _slices(receiver, sender=False))
    _check_flows(found, pair.client, way)
    return found


def window(slices: Sequence[Slice], begin: float, seconds: float) -> tuple[Slice, ...]:
    """The part of each interval within the window: ticks are not exact, and late on a busy machine.
    Raises MeasureError if the intervals do not fill it."""
    parts = [_between(piece, begin, begin + seconds) for piece in slices]
    kept = tuple(part for part in parts if part.end > part.start)
    length = sum(part.end - part.start for part in kept)
    if length < SHORTEST * seconds:
        raise MeasureError(f"iperf3 measured {length:.1f} s of {seconds:g} s")
    return kept


def _between(piece: Slice, begin: float, end: float) -> Slice:
    start, stop = max(piece.start, begin), min(piece.end, end)
    share = max(0.0, stop - start) / ((piece.end - piece.start) or 1.0)
    return Slice(start, stop, *(share * count for count in piece[2:]))


def begins(pairs: Sequence[Pair], warmup: float) -> tuple[float, ...]:
    """The start of the common window on the clock of each pair: ``warmup`` after the last client
    connected."""
    began = [pair.client.start.timestamp.seconds for pair in pairs]
    return tuple(warmup + max(began) - own for own in began)


def part(flows: Sequence[Flow], begin: Sequence[float], seconds: float) -> WindowTotals:
    """Traffic received in the window of ``seconds`` from ``begin`` of each flow."""
    kept = tuple(window(f.received, b, seconds) for f, b in zip(flows, begin, strict=True))
    lengths = [sum(s.end - s.start for s in own) for own in kept]
    carried = [sum(s.bytes for s in own) for own in kept]
    missing = sum(_missing(flow) for flow in flows)
    return WindowTotals(
        seconds=sum(lengths) / len(lengths),
        bytes=sum(carried),
        rate=sum(8 * b / s for b, s in zip(carried, lengths, strict=True)),
        offered=sum(s.packets for own in kept for s in own) + missing,
        lost_packets=max(0.0, sum(s.lost_packets for own in kept for s in own)) + missing,
    )


def _slices(report: Iperf3Report, *, sender: bool) -> tuple[Slice, ...]:
    wanted = report.start.test_start.num_streams
    udp = report.start.test_start.protocol == "UDP"
    return tuple(_slice(i, wanted, sender=sender, udp=udp) for i in report.intervals)


def _slice(interval: ReportInterval, wanted: int, *, sender: bool, udp: bool) -> Slice:
    streams = [stream for stream in interval.streams if stream.sender is sender]
    if len(streams) != wanted or not wanted:
        way = "sent" if sender else "received"
        raise MeasureError(f"iperf3's report has {len(streams)} streams that {way}, not {wanted}")
    if udp and any(s.packets is None or (s.lost_packets is None and not sender) for s in streams):
        raise MeasureError("iperf3's report does not count the packets")
    return Slice(
        first(interval),
        last(interval),
        sum(s.bytes for s in streams),
        sum(s.packets or 0 for s in streams),
        sum(s.lost_packets or 0 for s in streams),
    )


def _missing(flow: Flow) -> float:
    """Packets at the end that do not count as lost, since none with a higher number arrived: iperf3
    detects losses by gaps, so a path that died in the middle shows none, and one that was dead from
    the beginning shows 0 % (esnet/iperf#1984)."""
    sent = sum(s.packets for s in flow.sent)
    missing = sent - sum(s.packets for s in flow.received)
    seconds = flow.sent[-1].end - flow.sent[0].start
    return missing if missing * seconds > _IN_FLIGHT * sent else 0.0


def _check_flows(found: Flow, client: Iperf3Report, way: Way) -> None:
    """The receiver's intervals must add up to the totals that the client was sent, and packets to
    bytes."""
    start = client.start.test_start
    told = _told_bytes(client, way)
    if told is not None:
        _agree("bytes received", sum(s.bytes for s in found.received), told)
    elif start.protocol != "UDP":
        raise MeasureError("iperf3's report lacks what was received")
    if start.protocol == "UDP":
        _agree("bytes sent", *_bytes_and_packets(found.sent, start.blksize))
        _agree("bytes received", *_bytes_and_packets(found.received, start.blksize))
        _check_lost(found, client, way)


def _agree(what: str, one: float, other: float) -> None:
    if abs(one - other) > _BYTES_AGREE * max(one, other):
        raise MeasureError(f"iperf3's report contradicts itself: {one:.0f} or {other:.0f} {what}")


def _bytes_and_packets(slices: Sequence[Slice], size: int) -> tuple[float, float]:
    """Bytes as counted, and bytes calculated from the received packets."""
    return sum(s.bytes for s in slices), size * sum(s.packets - s.lost_packets for s in slices)


def _check_lost(found: Flow, client: Iperf3Report, way: Way) -> None:
    lost, told = sum(s.lost_packets for s in found.received), _told_lost(client, way)
    if abs(lost - told) > _PACKETS_AGREE * sum(s.packets for s in found.received):
        said = f"{lost:.0f} or {told:.0f} packets lost"
        raise MeasureError(f"iperf3's report contradicts itself: {said}")


def _told_bytes(client: Iperf3Report, way: Way) -> float | None:
    """Bytes in the receiver's total; None for UDP before 3.11, where nobody asks it for that."""
    end = client.end
    views = [s.receiver for s in end.streams if s.receiver and s.receiver.sender is (way == "rx")]
    if views:
        return sum(view.bytes for view in views)
    reverse = end.sum_received_bidir_reverse
    total = reverse if reverse and way == "tx" else end.sum_received
    return total.bytes if total else None


def _told_lost(client: Iperf3Report, way: Way) -> float:
    """Lost packets in the receiver's total."""
    totals = [s.udp for s in client.end.streams if s.udp and s.udp.sender is (way == "rx")]
    if not totals or any(total.lost_packets is None for total in totals):
        raise MeasureError("iperf3's report lacks what was lost")
    return sum(total.lost_packets or 0 for total in totals)
