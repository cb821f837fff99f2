"""A chart before it is drawn: its name, its description, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.words.labels import DESIGNS, Scale, scale_of
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH = 8.0
"""Width of every chart in inches."""

_LONGEST = 40


class Chart(NamedTuple):
    """``name``: of its file. ``title``: its two lines. ``about``: description in words for people
    who cannot see it. ``height``: in inches."""

    name: str
    title: tuple[str, str]
    about: str
    height: float
    draw: Callable[[Axes], None]


def chart_title(what: str, result: BenchResult, n: str) -> tuple[str, str]:
    """The two lines above a chart: its subject, and the design with the number of runs."""
    return label(what[:1].upper() + what[1:], 100), f"{DESIGNS[result.run.design].name}, {n}"


def label(text: str, longest: int = _LONGEST) -> str:
    """Text for an axis or a legend, made safe and shortened to the available room."""
    text = safe(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


Which = Literal["x", "y"]

_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_LINES = ("--", "-", "-.", ":")

_TICKS = 5
_DECADES = 10.0
"""Ratio of largest to smallest value above which a scale is logarithmic."""


def settle() -> None:
    """Set up matplotlib, until its context ends, so that the same input gives the same file, and
    ``$`` in a name is printed as a dollar."""
    from matplotlib import rc

    rc("svg", hashsalt="vnicaudit", fonttype="none")
    rc("font", family=["DejaVu Sans", "sans-serif"], size=9.0)
    rc("axes", axisbelow=True)
    rc("axes.spines", top=False, right=False)
    rc("text", parse_math=False, usetex=False)
    rc("legend", frameon=False)


class ArmStyle(NamedTuple):
    """How the points and lines of one arm are drawn, in matplotlib's terms."""

    color: str
    marker: str
    line: str


def arm_style(place: int) -> ArmStyle:
    """The style of the arm at that position among a measurement's arms."""
    return ArmStyle(
        _COLORS[place % len(_COLORS)], _MARKERS[place % len(_MARKERS)], _LINES[place % len(_LINES)]
    )


def scale(axes: Axes, which: Which, values: Iterable[float], metric: str, unit: str) -> None:
    """Set readable ticks. The scale is logarithmic if values are far apart, else it starts at 0, so
    that a small difference looks small."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = _ends(values)
    if low > 0 and high / low > _DECADES:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda x, _: _short(scale_of(x, metric, unit), x)))
        return
    common = scale_of(high, metric, unit)
    axis.set_major_locator(MaxNLocator(_TICKS))
    axis.set_major_formatter(FuncFormatter(lambda x, _: _short(common, x)))
    (axes.set_xlim if which == "x" else axes.set_ylim)(0.0, 1.08 * high or 1.0)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    seen = list(values)
    return min(seen, default=0.0), max(seen, default=0.0)


def _short(common: Scale, value: float) -> str:
    """``2.5 Gb/s``, not ``2.50 Gb/s``."""
    text = common.number(value)
    text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return f"{text}{common.unit}"
