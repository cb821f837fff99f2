"""Latencies of all requests of a run."""

from functools import cache
from itertools import pairwise

from vnicaudit.bench.histogram import Histogram

_SHAPE = ((0, 0.20), (50, 0.37), (90, 0.66), (99, 1.0), (99.9, 1.9), (99.99, 3.4), (100, 5.2))
"""Percentile -> part of the 99th percentile: a queue behind a virtual NIC."""


@cache
def histogram(p99: float, turn: int) -> str:
    """Of 20,000 requests; ``p99`` in microseconds."""
    counted = Histogram()
    for (low, small), (high, large) in pairwise(_SHAPE):
        number = round(200 * (high - low))
        for at in range(number):
            part = small + (large - small) * at / number
            counted.record(round(1000 * p99 * part * (1 + (at * 7 + turn) % 5 / 100)))
    return counted.encode()
