"""Charts -> SVG text. Only this module creates figures of matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vnicaudit.errors import MissingExtraError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.charts import dots, latencies, sweep
from vnicaudit.reports.bench.charts.chart import WIDTH, Chart
from vnicaudit.reports.bench.charts.style import settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def charts(result: BenchResult) -> list[Chart]:
    """All charts of this measurement, not yet drawn."""
    return [*dots.charts(result), *sweep.charts(result), *latencies.charts(result)]


def svg(chart: Chart) -> str:
    """One chart as an SVG document, without date and version: the same measurement gives the same
    text."""
    with _matplotlib():
        stream = io.BytesIO()
        _figure(chart).savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue().decode()


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, chart.height), layout="constrained")
    figure.suptitle("\n".join(chart.title), x=0.01, ha="left", fontsize="large")
    chart.draw(figure.subplots())
    return figure


@contextmanager
def _matplotlib() -> Iterator[None]:
    """matplotlib with our settings and none of the user's. Its warnings are suppressed: they are
    about fonts that lack a character of some name."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("a chart", "charts") from None
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        settle()
        yield
