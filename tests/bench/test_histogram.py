"""Latency histograms, against HdrHistogram's own Python package and against plain sorting."""

import base64
import struct
import zlib
from fractions import Fraction
from math import ceil

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from vnicaudit.bench.histogram import DIGITS, HIGHEST, Histogram, decode, sum_of_histograms
from vnicaudit.errors import MeasureError

_latencies = st.integers(0, HIGHEST)
_counted = st.lists(st.tuples(_latencies, st.integers(1, 10**9)), max_size=50)


def _of(values: list[tuple[int, int]]) -> Histogram:
    found = Histogram()
    for value, count in values:
        found.record(value, count)
    return found


def _oracle(values: list[tuple[int, int]]) -> HdrHistogram:
    found = HdrHistogram(1, HIGHEST, DIGITS)
    for value, count in values:
        assert found.record_value(value, count)
    return found


@given(_counted)
def test_hdrhistogram_reads_what_is_written(values: list[tuple[int, int]]) -> None:
    read = HdrHistogram.decode(_of(values).encode())
    expected = _oracle(values)
    assert read.get_total_count() == expected.get_total_count()
    assert read.get_max_value() == expected.get_max_value()
    for percentile in (1, 50, 99, 100):
        theirs = expected.get_value_at_percentile(percentile)
        assert read.get_value_at_percentile(percentile) == theirs


@given(_counted)
def test_what_hdrhistogram_writes_is_read(values: list[tuple[int, int]]) -> None:
    assert decode(_oracle(values).encode().decode()) == _of(values)


@given(_counted)
def test_what_is_written_is_read(values: list[tuple[int, int]]) -> None:
    assert decode(_of(values).encode()) == _of(values)


@given(_counted)
def test_total_mean_and_largest_are_those_of_hdrhistogram(values: list[tuple[int, int]]) -> None:
    ours, theirs = _of(values), _oracle(values)
    assert ours.total == theirs.get_total_count()
    assert ours.mean == pytest.approx(theirs.get_mean_value())
    assert ours.max == theirs.get_max_value()


@given(st.lists(_latencies, min_size=1, max_size=200))
def test_percentiles_are_those_of_hdrhistogram_where_a_rank_is_whole(values: list[int]) -> None:
    """Python's rounds a rank to the nearest; Java's, like ours, goes up to the next one."""
    counted = [(value, 1000) for value in values]
    ours, theirs = _of(counted), _oracle(counted)
    for percentile in (0.1, 1, 10, 50, 90, 99, 99.9, 100):
        assert ours.value_at_percentile(percentile) == theirs.get_value_at_percentile(percentile)


@given(st.lists(_latencies, min_size=1, max_size=300), st.sampled_from([50, 90, 99, 99.9, 100]))
def test_a_percentile_is_right_to_three_digits(values: list[int], percentile: float) -> None:
    rank = ceil(Fraction(str(percentile)) * len(values) / 100)
    exact = sorted(values)[rank - 1]
    found = _of([(value, 1) for value in values]).value_at_percentile(percentile)
    assert exact <= found <= exact * 1.001 + 1


@given(st.lists(_counted, max_size=5))
def test_merging_adds_counts_up(parts: list[list[tuple[int, int]]]) -> None:
    together = sum_of_histograms(_of(part) for part in parts)
    assert together == _of([value for part in parts for value in part])


def test_percentiles_of_workers_are_not_averaged() -> None:
    """One worker with 99 fast requests, one with a slow one: the median is fast."""
    together = sum_of_histograms([_of([(1000, 99)]), _of([(9_000_000, 1)])])
    assert together.value_at_percentile(50) == 1000
    assert together.value_at_percentile(99) == 1000
    assert together.value_at_percentile(99.9) == pytest.approx(9_000_000, rel=0.001)


def test_what_takes_longer_than_a_minute_counts_as_a_minute() -> None:
    assert _of([(HIGHEST * 50, 1)]) == _of([(HIGHEST, 1)])


def test_none_is_zero() -> None:
    none = Histogram()
    assert (none.total, none.max, none.mean, none.value_at_percentile(99)) == (0, 0, 0.0, 0)
    assert decode(none.encode()) == none


@pytest.mark.parametrize(("value", "count"), [(-1, 1), (1, -1)])
def test_less_than_nothing_cannot_be(value: int, count: int) -> None:
    with pytest.raises(ValueError, match="a latency of"):
        Histogram().record(value, count)


_TEXT = _of([(1_000, 5), (20_000, 7), (3_000_000, 1), (HIGHEST, 2)]).encode()


@pytest.mark.parametrize("length", range(len(_TEXT)))
def test_a_text_that_is_cut_is_an_error(length: int) -> None:
    with pytest.raises(MeasureError):
        decode(_TEXT[:length])


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda b: base64.b64encode(b).decode()))
@example("é")
def test_what_is_no_histogram_is_an_error(text: str) -> None:
    with pytest.raises(MeasureError):
        decode(text)


@given(st.integers(0, len(base64.b64decode(_TEXT)) - 1), st.integers(1, 255))
def test_a_byte_that_is_changed_is_an_error_or_other_counts(place: int, change: int) -> None:
    data = bytearray(base64.b64decode(_TEXT))
    data[place] ^= change
    with pytest.raises(MeasureError):
        decode(base64.b64encode(data).decode())


@given(st.binary(max_size=300))
def test_counts_of_any_bytes_are_counts_or_an_error(counts: bytes) -> None:
    try:
        found = decode(_packed(counts))
    except MeasureError:
        return
    assert found.total >= 0
    assert found.max <= HIGHEST * 1.001


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        # zigzag of -2^62: a run of zeros longer than there are buckets
        (b"\xff" * 8 + b"\x7f\x02", "has too many buckets"),
        (b"\x02" * 30_000, "has too many buckets"),
        (b"\x80", "ends in a number"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: bytes, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        decode(_packed(counts))


def test_a_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b"\0" * 500_000_000, 9)
    assert len(bomb) < 500_000
    text = base64.b64encode(struct.pack(">ii", 0x1C849314, len(bomb)) + bomb).decode()
    with pytest.raises(MeasureError, match="is too long, or ends early"):
        decode(text)


def test_an_endless_text_is_not_looked_at() -> None:
    with pytest.raises(MeasureError, match="is too long"):
        decode("A" * 5_000_000)


def test_another_range_is_refused() -> None:
    with pytest.raises(MeasureError, match="another range than 1 ns to 60 s"):
        decode(HdrHistogram(1, 3_600_000_000, 2).encode().decode())


def _packed(counts: bytes) -> str:
    """A well-formed text around counts."""
    plain = struct.pack(">iiiiqqd", 0x1C849313, len(counts), 0, DIGITS, 1, HIGHEST, 1.0) + counts
    deflated = zlib.compress(plain)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(deflated)) + deflated).decode()
