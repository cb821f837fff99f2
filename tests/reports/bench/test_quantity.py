"""Numbers for people."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.metrics import METRICS, change, digits, quantity
from vnicaudit.reports.bench.labels import percent, size


@pytest.mark.parametrize(
    ("value", "metric", "shown"),
    [
        (7.81e9, "goodput", "7.81 Gb/s"), (132e6, "goodput", "132 Mb/s"), (0.0, "goodput", "0 b/s"),
        (999_600, "goodput", "1.00 Mb/s"), (999_400, "goodput", "999 kb/s"),
        (1.2e12, "goodput", "1.20 Tb/s"), (45_800, "query_rate", "45.8k q/s"),
        (870, "query_rate", "870 q/s"), (14.88e6, "packet_rate", "14.9M pkt/s"),
        (21_700, "transaction_rate", "21.7k req/s"), (310, "latency_p99", "310 µs"),
        (1_640, "latency_p99", "1.64 ms"), (2.5e6, "latency_max", "2.50 s"),
        (0.05, "latency_p50", "0.0500 µs"), (0.52, "loss", "0.520 %"),
        (50_320, "host_cpu_per_gbit", "50.3k µs/Gbit"), (912, "peer_cpu_per_gbit", "912 µs/Gbit"),
        (12.3, "host_cpu_per_transaction", "12.3 µs"), (5, "of another version", "5.00"),
    ],
)  # fmt: skip
def test_a_value_with_its_unit(value: float, metric: str, shown: str) -> None:
    assert quantity(value, metric) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (9.999, "10.0"), (9.994, "9.99"), (0.05196, "0.0520"), (50_320, "50,300"),
        (-7.815, "-7.82"), (1e9, "1.00e+09"), (1e-9, "1.00e-09"), (float("inf"), "inf"), (0, "0"),
    ],
)  # fmt: skip
def test_three_digits(value: float, shown: str) -> None:
    assert digits(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3_049.2, "+3,050"), (-26.83, "-26.8"), (-0.04, "+0.0"), (4.66, "+4.7"), (0.0, "+0.0"),
        (float("-inf"), "-inf"), (5e99, "+5.00e+99"),
    ],
)  # fmt: skip
def test_a_change_has_its_sign(value: float, shown: str) -> None:
    assert change(value) == shown


def test_sizes_and_shares() -> None:
    assert [size(n) for n in (64, 200, 1448, 16384, 30720, 65507, 1 << 20)] == [
        "64 B", "200 B", "1,448 B", "16 KiB", "30 KiB", "65,507 B", "1 MiB",
    ]  # fmt: skip
    assert percent(83.04) == "83.0 %"


@given(st.floats(1e-3, 1e14), st.sampled_from(sorted(METRICS)))
def test_what_is_shown_is_the_value_to_three_digits(value: float, metric: str) -> None:
    shown = quantity(value, metric)
    number = re.match(r"[\d.,]+(e[+-]\d+)?", shown)
    assert number is not None
    factors = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ms": 1e3, "s": 1e6}
    rest = shown[number.end() :].strip()
    factor = factors.get(rest if METRICS[metric].unit == "us" else rest[:1], 1.0)
    assert float(number[0].replace(",", "")) * factor == pytest.approx(value, rel=0.0051)
