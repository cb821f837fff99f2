"""A chart before it is drawn: its name, its description, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.words.labels import DESIGNS
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
