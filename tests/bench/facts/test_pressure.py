"""Pressure of a machine's CPUs, as the kernel writes it."""

import pytest

from vnicaudit.bench.facts.path_check import percent_between, waited_microseconds
from vnicaudit.bench.facts.sections import Section

# Linux 6.18; kernels before 5.13 have no second line.
CPU = """\
some avg10=96.69 avg60=97.10 avg300=88.59 total=951269166
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        (CPU, 951_269_166),
        (CPU.partition("full")[0], 951_269_166),
        ("", None),
        ("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", None),
        ("some avg10=0.00 total=many\n", None),
    ],
)
def test_the_total(text: str, microseconds: int | None) -> None:
    assert waited_microseconds((Section("pressure", text),)) == microseconds


@pytest.mark.parametrize(
    ("before", "after", "seconds", "percent"),
    [
        (1_000_000, 3_500_000, 10.0, 25.0),
        (0, 11_000_000, 10.0, 100.0),  # read a little later than the clock
        (None, 5, 10.0, None),
        (5, None, 10.0, None),
        (5, 4, 10.0, None),
        (5, 6, None, None),
        (5, 6, 0.0, None),
    ],
)
def test_between_two_readings(
    before: int | None, after: int | None, seconds: float | None, percent: float | None
) -> None:
    assert percent_between(before, after, seconds) == percent
