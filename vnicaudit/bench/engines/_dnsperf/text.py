"""Output of dnsperf after a measurement: the ``Statistics:`` block.

Formats are those of ``print_statistics`` in src/dnsperf.c: 2.10 has *Reconnections*, 2.11 adds the
latency histogram, 2.14 says *Connection attempts*, followed by *Unexpected IDs*. Under *Connection
Statistics* the queries' histogram is printed once more; that copy is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import one_line
from vnicaudit.errors import MeasureError

_USEFUL = ("NOERROR", "NXDOMAIN")

_COUNT = r"\d{1,18}"
_SECONDS = r"\d{1,12}\.\d{6}"
_SHARE = r" \((?:\d+\.\d\d|-?nan|inf)%\)"
_LATENCY = rf"  Average Latency \(s\):  ({_SECONDS}) \(min ({_SECONDS}), max ({_SECONDS})\)\n"
_DEVIATION = r"(?:  Latency StdDev \(s\):   -?(?:\d+\.\d+|nan|inf)\n)?"
_BUCKETS = rf"(?:  {_SECONDS} - {_SECONDS}:  {_COUNT}\n)*"

_BLOCK = re.compile(
    r"\[Status\] Testing complete \((?P<end>[a-z ]+)\)\n\n"
    r"Statistics:\n\n"
    rf"  Queries sent:         (?P<sent>{_COUNT})\n"
    rf"  Queries completed:    (?P<completed>{_COUNT}){_SHARE}\n"
    rf"  Queries lost:         (?P<lost>{_COUNT}){_SHARE}\n"
    rf"(?:  Queries interrupted:  \d+{_SHARE}\n)?"
    rf"(?:  Unexpected IDs:       (?P<unexpected>{_COUNT}){_SHARE}\n)?"
    r"\n"
    r"  Response codes:       (?P<codes>[^\n]*)\n"
    r"  Average packet size:  request \d+, response \d+\n"
    rf"  Run time \(s\):         (?P<seconds>{_SECONDS})\n"
    rf"  Queries per second:   (?P<rate>{_SECONDS})\n"
    r"\n"
    rf"{_LATENCY}{_DEVIATION}"
    rf"(?P<histogram>  Latency bucket \(s\):   answer count\n{_BUCKETS})?"
    r"\n"
    r"(?P<connections>Connection Statistics:\n\n"
    rf"  (?:Reconnections|Connection attempts): +(?P<attempts>{_COUNT})(?!\d)[^\n]*\n\n"
    rf"{_LATENCY}{_DEVIATION}"
    rf"(?:  Latency bucket \(s\):   connection count\n{_BUCKETS})?"
    r"\n)?\Z"
)
_CODE = re.compile(rf"(?<![A-Za-z0-9])([A-Za-z0-9]+) ({_COUNT}) \(\d+\.\d\d%\)")
_BUCKET = re.compile(rf"  ({_SECONDS}) - ({_SECONDS}):  ({_COUNT})\n")


class Bucket(NamedTuple):
    """Number of answers with a latency in this range. Microseconds, both ends included."""

    low: int
    high: int
    answers: int


class Statistics(NamedTuple):
    """One generator's run. Latencies are in microseconds, of answered queries."""

    sent: int
    completed: int
    lost_queries: int
    codes: dict[str, int]
    seconds: float
    """From the start to the end of sending, or to the last answer if that was later."""
    rate: float
    mean: float
    least: float
    most: float
    histogram: tuple[Bucket, ...]
    """Empty if it was not requested, or this build of dnsperf has none."""
    attempts: int | None
    """Connection attempts, or reconnections (before 2.14); None: no connections."""
    unexpected: int

    @property
    def useful(self) -> int:
        """Number of useful answers: NOERROR and NXDOMAIN."""
        return sum(self.codes.get(code, 0) for code in _USEFUL)


def statistics(text: str, *, connected: bool) -> Statistics:
    """The block at the end of dnsperf's output; ``connected``: it ran over TCP. Raises MeasureError
    unless it is complete and the run reached its end."""
    found = _BLOCK.search(text)
    if found is None:
        raise MeasureError(f"dnsperf printed no statistics{_last_line(text)}")
    if found["end"] != "time limit":
        raise MeasureError(f"dnsperf ended early ({found['end']})")
    if connected and int(found["completed"]) and found["connections"] is None:
        raise MeasureError("dnsperf printed no connection statistics")
    return _checked(_statistics(found))


def _statistics(found: re.Match[str]) -> Statistics:
    mean, least, most = (_microseconds(found[group]) for group in _latency_groups())
    return Statistics(
        sent=int(found["sent"]),
        completed=int(found["completed"]),
        lost_queries=int(found["lost"]),
        codes={code: int(count) for code, count in _CODE.findall(found["codes"])},
        seconds=float(found["seconds"]),
        rate=float(found["rate"]),
        mean=mean,
        least=least,
        most=most,
        histogram=_buckets(found["histogram"] or ""),
        attempts=int(found["attempts"]) if found["attempts"] else None,
        unexpected=int(found["unexpected"] or 0),
    )


def _latency_groups() -> tuple[int, int, int]:
    """The three groups of the first latency line follow directly after ``rate``."""
    first = _BLOCK.groupindex["rate"] + 1
    return first, first + 1, first + 2


def _checked(read: Statistics) -> Statistics:
    if sum(read.codes.values()) != read.completed:
        raise MeasureError("dnsperf's response codes do not add up to the queries completed")
    if read.histogram and sum(bucket.answers for bucket in read.histogram) != read.completed:
        raise MeasureError("dnsperf's histogram does not add up to the queries completed")
    if not read.seconds:
        raise MeasureError("dnsperf reports a run time of zero")
    return read


def _buckets(text: str) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(round(_microseconds(low)), round(_microseconds(high)), int(count))
        for low, high, count in _BUCKET.findall(text)
    )


def _microseconds(seconds: str) -> float:
    return round(float(seconds) * 1e6, 0)


def _last_line(text: str) -> str:
    said = one_line(text, last=True)
    return f"; its last line: {said}" if said else ""


def percentile(runs: Sequence[Statistics], share: float) -> float | None:
    """The latency that ``share`` (0.99) of all answers, of all generators together, did not exceed:
    the upper end of its bucket, which is about 3 % wide, or the largest of all if that is less.
    None: a generator has no histogram, or there are too few answers."""
    if not all(run.histogram for run in runs):
        return None
    answers = sorted((b.high, b.answers) for run in runs for b in run.histogram)
    total = sum(count for _, count in answers)
    if total * (1 - share) < 1:
        return None
    seen = 0
    for high, count in answers:
        seen += count
        if seen >= share * total:
            return min(float(high), max(run.most for run in runs))
    return None
