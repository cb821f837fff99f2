"""Counts as HdrHistogram V2 writes them: zigzag, seven bits to a byte, runs of zeros as one number.

The ninth byte, if there is one, has eight bits (ZigZagEncoding.java, ``putLong``). A negative
number stands for that many zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
