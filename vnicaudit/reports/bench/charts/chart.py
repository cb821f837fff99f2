"""A chart before it is drawn: what it is called, what it says, and how to draw it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.words.labels import DESIGNS
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 8.0
"""Inches, of every chart."""

_LONGEST = 40


class Chart(NamedTuple):
    """``name``: of its file. ``title``: its two lines. ``about``: the same in words, for who cannot
    see it. ``height`` in inches."""

    name: str
    title: tuple[str, str]
    about: str
    height: float
    draw: Callable[[Axes], None]


def chart_title(what: str, result: BenchResult, n: str) -> tuple[str, str]:
    """The two lines above a chart: its subject; the design and the number of runs."""
    return label(what[:1].upper() + what[1:], 100), f"{DESIGNS[result.run.design].name}, {n}"


def label(text: str, longest: int = _LONGEST) -> str:
    """Text for an axis or a legend: harmless, and not longer than there is room for."""
    text = safe(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
