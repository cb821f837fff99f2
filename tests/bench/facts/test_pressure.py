"""Pressure of a machine's CPUs, as the kernel writes it."""

import pytest

from vnicaudit.bench.facts.cpu import cpu_reading, longest_wait
from vnicaudit.model.host import Section

# Linux 6.18; kernels before 5.13 have no second line.
CPU = """\
some avg10=96.69 avg60=97.10 avg300=88.59 total=951269166
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""
STAT = "cpu  1 2 3 4 5 6 7 8 9 10\n"


@pytest.mark.parametrize(
    ("printed", "pressure"),
    [
        (CPU, {"some": 951.269166}),
        (CPU.partition("full")[0], {"some": 951.269166}),
        ("", {}),
        ("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", {}),
        ("some avg10=0.00 total=many\n", {}),
    ],
)
def test_pressure_is_its_total_in_seconds(printed: str, pressure: dict[str, float]) -> None:
    sections = [Section("uptime", "1.0 1.0\n"), Section("stat", STAT), Section("pressure", printed)]
    assert cpu_reading(sections).pressure == pressure


@pytest.mark.parametrize(
    ("before", "after", "seconds", "percent"),
    [
        ({0: 1.0}, {0: 3.5}, 10.0, 25.0),
        ({0: 0.0, 1: 0.0, 2: 0.0}, {0: 0.01, 1: 0.5, 2: 0.02}, 10.0, 5.0),
        ({0: 0.0}, {0: 11.0}, 10.0, 100.0),  # read a little later than the clock
        ({0: 5.0}, {0: 5.0, 1: 0.9}, 10.0, 0.0),
        ({}, {0: 5.0}, 10.0, None),
        ({0: 5.0}, {0: 4.0}, 10.0, None),
        ({0: 5.0}, {0: 6.0}, 0.0, None),
    ],
)
def test_the_longest_wait_between_two_readings_is_a_share_of_the_time(
    before: dict[int, float], after: dict[int, float], seconds: float, percent: float | None
) -> None:
    assert longest_wait(before, after, seconds) == percent
