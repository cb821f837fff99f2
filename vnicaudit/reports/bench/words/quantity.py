"""Numbers for people: ``7.81 Gb/s``, ``45.8k q/s``, ``310 µs``. Three digits are as precise as a
median can be."""

from __future__ import annotations

import math
from typing import NamedTuple

from vnicaudit.bench.metrics import METRICS

_DIGITS = 3
_MINUTE, _HOUR = 60, 3600
_SMALLEST, _LARGEST = 1e-6, 1e9
"""Numbers outside these limits are written with an exponent."""
_EACH = {
    "packet_rate": "pkt/s", "query_rate": "q/s", "transaction_rate": "req/s",
    "connection_rate": "conn/s",
}  # fmt: skip
_BITS = ((1e12, " Tb/s"), (1e9, " Gb/s"), (1e6, " Mb/s"), (1e3, " kb/s"), (1.0, " b/s"))
_RATE = ((1e12, "T "), (1e9, "G "), (1e6, "M "), (1e3, "k "), (1.0, " "))
_COST = ((1e6, "M µs/Gbit"), (1e3, "k µs/Gbit"), (1.0, " µs/Gbit"))
_TIME = ((1e6, " s"), (1e3, " ms"), (1.0, " µs"))


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
    if unit == "bit/s":
        return _fitting(value, _BITS)
    if unit == "1/s":
        factor, prefix = _fitting(value, _RATE)
        return Scale(factor, prefix + _EACH.get(metric, "1/s"))
    if unit == "us/Gbit":
        return _fitting(value, _COST)
    if unit == "us":
        return _fitting(value, _TIME)
    return Scale(1.0, f" {unit}" if unit else "")


def quantity(value: float, metric: str, unit: str = "") -> str:
    """One value with its unit."""
    return scale_of(value, metric, unit).text(value)


def percent(value: float) -> str:
    """A share: ``83.0 %``."""
    return f"{digits(value)} %"


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


def size(count: int) -> str:
    """Size of a message: ``64 KiB``, ``200 B``."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count:,} B"


def _fitting(value: float, scales: tuple[tuple[float, str], ...]) -> Scale:
    """The largest scale in which the rounded value is at least 1."""
    for factor, unit in scales:
        if abs(value) >= factor * 0.9995:
            return Scale(factor, unit)
    return Scale(*scales[-1])


def duration(seconds: float) -> str:
    """``40 s``, ``7 min 12 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min" + (f" {whole % _MINUTE} s" if whole % _MINUTE else "")
    hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
