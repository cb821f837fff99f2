"""Amounts as people write them, and as ids show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.profiles.load import amount, short


@pytest.mark.parametrize(
    ("value", "base", "expected"),
    [
        ("64K", 1024, 65536),
        ("64k", 1024, 65536),
        ("1M", 1024, 1048576),
        ("16", 1024, 16),
        (" 13.4 G ", 1000, 13.4e9),
        ("100M", 1000, 100e6),
        (5000, 1000, 5000),
        (0.5, 1000, 0.5),
    ],
)
def test_an_amount(value: float | str, base: int, expected: float) -> None:
    assert amount(value, base) == expected


@pytest.mark.parametrize(
    "value", ["", "K", "-1", "1e9", "64KB", "1,5G", "٣", 0, -1, float("nan"), float("inf"), "0K"]
)
def test_what_is_none(value: float | str) -> None:
    assert amount(value, 1000) is None


@pytest.mark.parametrize(
    ("value", "base", "expected"),
    [
        (65536, 1024, "64k"),
        (1048576, 1024, "1m"),
        (1000, 1024, "1000"),
        (65507, 1024, "65507"),
        (1e8, 1000, "100m"),
        (13.4e9, 1000, "13400m"),
        (2500, 1000, "2500"),
        (0.5, 1000, "0.5"),
    ],
)
def test_the_short_form(value: float, base: int, expected: str) -> None:
    assert short(value, base) == expected


@given(value=st.integers(1, 2**40), base=st.sampled_from([1000, 1024]))
def test_the_short_form_says_the_same(value: int, base: int) -> None:
    assert amount(short(value, base), base) == value
