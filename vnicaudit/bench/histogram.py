"""Latencies of requests, counted in buckets: HdrHistogram.

Values are whole **nanoseconds**: in microseconds a request of 20 us would only be known to 5 %.
Every value is kept to three digits, from 1 ns to 60 s; longer ones count as 60 s. Histograms of
several workers are added up, bucket by bucket; percentiles are never averaged.

The text form is HdrHistogram's V2 encoding, deflated, base64, which its tools read in every
language (``AbstractHistogram.encodeIntoCompressedByteBuffer``, ZigZagEncoding.java).

Counts as HdrHistogram V2 writes them: zigzag, seven bits to a byte, runs of zeros as one number.

The ninth byte, if there is one, has eight bits (ZigZagEncoding.java, ``putLong``). A negative
number stands for that many zeros.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil

from vnicaudit.errors import MeasureError

_LONGEST = 9


def counts_to_bytes(counts: Iterable[int]) -> bytes:
    """Encode counts of buckets, starting with the first bucket."""
    out = bytearray()
    zeros = 0
    for count in counts:
        if count == 0:
            zeros += 1
            continue
        if zeros:
            _append(out, -zeros)
            zeros = 0
        _append(out, count)
    return bytes(out)


def counts_from_bytes(data: bytes, length: int) -> Iterator[tuple[int, int]]:
    """(bucket, count) of the buckets that are not empty. Raises MeasureError if there are more than
    ``length`` buckets, or the last number is cut off."""
    index = 0
    for number in _numbers(data):
        index += -number if number < 0 else 1
        if index > length:
            raise MeasureError("a latency histogram has too many buckets")
        if number > 0:
            yield index - 1, number


def _append(out: bytearray, number: int) -> None:
    rest = (number << 1) ^ (number >> 63)
    for _ in range(_LONGEST - 1):
        if rest < 0x80:
            out.append(rest)
            return
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def _numbers(data: bytes) -> Iterator[int]:
    rest, place = 0, 0
    for byte in data:
        last = place == _LONGEST - 1
        rest |= (byte if last else byte & 0x7F) << (7 * place)
        place += 1
        if last or byte < 0x80:
            yield (rest >> 1) ^ -(rest & 1)
            rest, place = 0, 0
    if place:
        raise MeasureError("a latency histogram ends in a number")


DIGITS = 3
HIGHEST = 60_000_000_000

_HALF_BITS = 10
"""Bits of half a sub-bucket, at three digits: 2^11 is the first power of two above 2 * 10^3."""
_HALF = 1 << _HALF_BITS

_COOKIE = 0x1C849313
_COOKIE_DEFLATED = 0x1C849314
_HEADER = struct.Struct(">iiiiqqd")
"""Cookie, length of the counts, index offset, digits, lowest, highest, conversion ratio."""

_LONGEST_TEXT = 4_000_000
"""Maximum characters of base64 that are decoded; this program's texts have a few thousand."""


def _index(value: int) -> int:
    shift = max(value.bit_length() - _HALF_BITS - 1, 0)
    return (shift << _HALF_BITS) + (value >> shift)


def _width(index: int) -> int:
    """Number of values that share a bucket."""
    return 1 << max((index >> _HALF_BITS) - 1, 0)


def _lowest(index: int) -> int:
    shift = max((index >> _HALF_BITS) - 1, 0)
    return (index - (shift << _HALF_BITS)) << shift


_LENGTH = (HIGHEST.bit_length() - _HALF_BITS + 1) * _HALF
"""Number of buckets that HdrHistogram keeps for this range."""


class Histogram:
    """Counts of nanoseconds. Two are equal when their counts are."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def record(self, value: int, count: int = 1) -> None:
        """Count a latency ``count`` times. Raises ValueError for a negative one."""
        if value < 0 or count < 0:
            raise ValueError(f"a latency of {value} ns, {count} times")
        index = _index(min(value, HIGHEST))
        if count:
            self._counts[index] = self._counts.get(index, 0) + count

    def add(self, other: Histogram) -> None:
        """Add all counts of another histogram."""
        for index, count in other._counts.items():
            self._counts[index] = self._counts.get(index, 0) + count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def total(self) -> int:
        """Number of counted latencies."""
        return sum(self._counts.values())

    @property
    def max(self) -> int:
        """The largest latency in nanoseconds; 0 if there is none."""
        if not self._counts:
            return 0
        index = max(self._counts)
        return _lowest(index) + _width(index) - 1

    @property
    def mean(self) -> float:
        """The mean in nanoseconds, from the middle of each bucket; 0 if there is none."""
        if not self._counts:
            return 0.0
        middles = ((_lowest(at) + _width(at) // 2) * count for at, count in self._counts.items())
        return sum(middles) / self.total

    def value_at_percentile(self, percentile: float) -> int:
        """The smallest latency in nanoseconds that at least that many per cent do not exceed: the
        upper edge of its bucket, as in HdrHistogram; 0 if there is none."""
        wanted = max(ceil(Fraction(str(percentile)) * self.total / 100), 1)
        seen = 0
        for index in sorted(self._counts):
            seen += self._counts[index]
            if seen >= wanted:
                return _lowest(index) + _width(index) - 1
        return self.max

    def encode(self) -> str:
        """HdrHistogram's text: V2, compressed, base64."""
        top = max(self._counts, default=-1)
        counts = counts_to_bytes(self._counts.get(index, 0) for index in range(top + 1))
        header = _HEADER.pack(_COOKIE, len(counts), 0, DIGITS, 1, HIGHEST, 1.0)
        deflated = zlib.compress(header + counts)
        head = struct.pack(">ii", _COOKIE_DEFLATED, len(deflated))
        return base64.b64encode(head + deflated).decode("ascii")


def decode(text: str) -> Histogram:
    """A histogram from its text. Raises MeasureError for text that this program did not write, and
    never takes more memory than the largest valid histogram."""
    counts = counts_from_bytes(_payload(text), _LENGTH)
    histogram = Histogram()
    histogram._counts = dict(counts)
    return histogram


def sum_of_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of all histograms."""
    total = Histogram()
    for histogram in histograms:
        total.add(histogram)
    return total


def _payload(text: str) -> bytes:
    """The encoded counts."""
    plain = _inflated(_deflated(text))
    if len(plain) < _HEADER.size:
        raise MeasureError("a latency histogram ends in its header")
    cookie, length, offset, digits, lowest, highest, _ratio = _HEADER.unpack_from(plain)
    if cookie != _COOKIE or (offset, digits, lowest, highest) != (0, DIGITS, 1, HIGHEST):
        raise MeasureError("a latency histogram has another range than 1 ns to 60 s")
    if length != len(plain) - _HEADER.size:
        raise MeasureError("a latency histogram is shorter or longer than it says")
    return plain[_HEADER.size :]


def _deflated(text: str) -> bytes:
    if len(text) > _LONGEST_TEXT:
        raise MeasureError("a latency histogram is too long")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeasureError("a latency histogram is not base64") from error
    if len(data) < 8 or struct.unpack_from(">ii", data) != (_COOKIE_DEFLATED, len(data) - 8):
        raise MeasureError("a latency histogram is not HdrHistogram V2")
    return data[8:]


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, _HEADER.size + _LENGTH * 9)
    except zlib.error as error:
        raise MeasureError("a latency histogram cannot be inflated") from error
    if not inflate.eof or inflate.unused_data:
        raise MeasureError("a latency histogram is too long, or ends early")
    return plain
