"""The metrics: units, which direction is better, and margins.

Margins are those of measuring.md 2.5: 5 % for throughput, rates and CPU, 10 % for tails of latency,
whose noise is larger. They are stated in every result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vnicaudit.model.measurement import Better


class Metric(NamedTuple):
    """``margin``: the share by which it must be worse (or better) to count."""

    name: str
    unit: str
    better: Better
    margin: float
    title: str


_THROUGHPUT = 0.05
_TAIL = 0.10

_COSTS = ("_cpu_per_gbit", "_cpu_per_transaction")

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("goodput", "bit/s", "higher", _THROUGHPUT, "received payload"),
        Metric("packet_rate", "1/s", "higher", _THROUGHPUT, "packets received"),
        Metric("query_rate", "1/s", "higher", _THROUGHPUT, "DNS queries answered"),
        Metric("transaction_rate", "1/s", "higher", _THROUGHPUT, "requests answered"),
        Metric(
            "connection_rate", "1/s", "higher", _THROUGHPUT, "connections made, with a request each"
        ),
        Metric("latency_mean", "us", "lower", _THROUGHPUT, "mean latency"),
        Metric("latency_p50", "us", "lower", _THROUGHPUT, "median latency"),
        Metric("latency_p99", "us", "lower", _TAIL, "99th percentile of latency"),
        Metric("latency_p999", "us", "lower", _TAIL, "99.9th percentile of latency"),
        Metric("latency_max", "us", "lower", _TAIL, "largest latency"),
        Metric("loss", "%", "lower", _TAIL, "packets or queries lost"),
        Metric("host_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "hypervisor CPU per Gbit"),
        Metric("target_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "target CPU per Gbit"),
        Metric("peer_cpu_per_gbit", "us/Gbit", "lower", _THROUGHPUT, "peer CPU per Gbit"),
        Metric(
            "host_cpu_per_transaction", "us", "lower", _THROUGHPUT, "hypervisor CPU per request"
        ),
        Metric("target_cpu", "% CPU", "lower", _THROUGHPUT, "target CPU time"),
        Metric("peer_cpu", "% CPU", "lower", _THROUGHPUT, "peer CPU time"),
        Metric("target_cpu_per_transaction", "us", "lower", _THROUGHPUT, "target CPU per request"),
        Metric("peer_cpu_per_transaction", "us", "lower", _THROUGHPUT, "peer CPU per request"),
    )
}
"""The metrics that can be judged, by name; all other output of a tool is detail."""


def is_cost(metric: Metric) -> bool:
    """True for CPU time per Gbit or request, which the runner calculates for every engine from the
    CPU time of both ends and of the hypervisor, if it is known."""
    return metric.name.endswith(_COSTS)


# Numbers for people: ``7.81 Gb/s``, ``45.8k q/s``, ``310 µs``. Three digits are as precise as a
# median can be.


_DIGITS = 3
_SMALLEST, _LARGEST = 1e-6, 1e9
"""Numbers outside these limits are written with an exponent."""
_EACH = {
    "packet_rate": "pkt/s", "query_rate": "q/s", "transaction_rate": "req/s",
    "connection_rate": "conn/s",
}  # fmt: skip
_SCALES = {
    "bit/s": ((1e12, " Tb/s"), (1e9, " Gb/s"), (1e6, " Mb/s"), (1e3, " kb/s"), (1.0, " b/s")),
    "1/s": ((1e12, "T "), (1e9, "G "), (1e6, "M "), (1e3, "k "), (1.0, " ")),
    "us/Gbit": ((1e6, "M µs/Gbit"), (1e3, "k µs/Gbit"), (1.0, " µs/Gbit")),
    "us": ((1e6, " s"), (1e3, " ms"), (1.0, " µs")),
}
"""Unit -> factors and what follows the number, the largest first."""


class Scale(NamedTuple):
    """Values are divided by ``factor`` and followed by ``unit``."""

    factor: float
    unit: str

    def number(self, value: float) -> str:
        """The value without its unit: ``7.81``, ``1,140``."""
        return digits(value / self.factor)

    def text(self, value: float) -> str:
        """The value with its unit: ``7.81 Gb/s``."""
        return f"{self.number(value)}{self.unit}"


def scale_of(value: float, metric: str, unit: str = "") -> Scale:
    """The scale in which a value of this metric is easy to read. ``unit``: used for metrics unknown
    to this version."""
    known = METRICS.get(metric)
    unit = known.unit if known is not None else unit
    if unit not in _SCALES:
        return Scale(1.0, f" {unit}" if unit else "")
    # the largest scale in which the rounded value is at least 1
    fitting = (each for each in _SCALES[unit] if abs(value) >= each[0] * 0.9995)
    factor, word = next(fitting, _SCALES[unit][-1])
    return Scale(factor, word + _EACH.get(metric, "1/s") if unit == "1/s" else word)


def quantity(value: float, metric: str, unit: str = "") -> str:
    """One value with its unit."""
    return scale_of(value, metric, unit).text(value)


def change(value: float) -> str:
    """A change in per cent, with its sign but without the per cent sign: ``+3.2``, ``-27``,
    ``+3,050``."""
    if not math.isfinite(value):
        return f"{value:+}"
    shown = digits(abs(value)) if abs(value) >= 10 else f"{abs(value):.1f}"
    sign = "-" if value < 0 and float(shown.replace(",", "")) else "+"
    return f"{sign}{shown}"


def digits(value: float) -> str:
    """Three significant digits, with thousands separators: ``0.0520``, ``7.81``, ``50,300``."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    places = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if math.floor(math.log10(abs(rounded))) > _DIGITS - 1 - places:
        places -= 1  # 9.999 is rounded to 10.0
    if not _SMALLEST <= abs(rounded) < _LARGEST:
        return f"{rounded:.{_DIGITS - 1}e}"
    return f"{rounded:,.{max(places, 0)}f}"
