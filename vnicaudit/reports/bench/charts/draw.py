"""Charts -> SVG text, or files. Only this module creates figures of matplotlib."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vnicaudit.base.new_file import replaced
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.charts import dots, latencies, sweep
from vnicaudit.reports.bench.charts.chart import WIDTH, Chart
from vnicaudit.reports.bench.charts.style import settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["svg", "png"]

KINDS: tuple[Kind, ...] = ("svg", "png")
_METADATA: dict[Kind, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None}, "png": {"Software": None},
}  # fmt: skip
"""No date and no version in a file, so that the same measurement gives the same file."""
_DPI = 144


def charts(result: BenchResult) -> list[Chart]:
    """All charts of this measurement, not yet drawn."""
    return [*dots.charts(result), *sweep.charts(result), *latencies.charts(result)]


def draw(result: BenchResult, where: str | Path, kind: Kind = "svg") -> list[Path]:
    """Write the charts; returns the files.

    ``where`` is a folder for one file per chart, or a file (``.svg``, ``.png``) for all charts, one
    below the other. Raises MissingExtraError without matplotlib, UsageError if nothing can be drawn
    or written.
    """
    found = charts(result)
    if not found:
        raise UsageError("there is nothing to draw: no run counts")
    place = Path(where)
    suffix = place.suffix.lower().removeprefix(".")
    try:
        if suffix in KINDS:
            _replace(place, _picture(found, suffix))
            return [place]
        place.mkdir(parents=True, exist_ok=True)
        return [_written(place, name, [chart], kind) for name, chart in _with_file_names(found)]
    except OSError as error:
        raise UsageError(f"{error.filename or place}: {error.strerror}") from None


def svg(chart: Chart) -> str:
    """One chart as an SVG document."""
    return _picture([chart], "svg").decode()


def _written(folder: Path, name: str, found: Sequence[Chart], kind: Kind) -> Path:
    path = folder / f"{name}.{kind}"
    _replace(path, _picture(found, kind))
    return path


def _replace(path: Path, data: bytes) -> None:
    with replaced(str(path)) as stream:
        stream.write(data)


def _with_file_names(found: Sequence[Chart]) -> Iterator[tuple[str, Chart]]:
    """The charts with file names that are unique and valid on any file system."""
    taken: set[str] = set()
    for chart in found:
        bare = name = re.sub(r"[^A-Za-z0-9_-]+", "-", chart.name).strip("-")[:80]
        while name in taken:
            name = f"{bare}-{len(taken)}"
        taken.add(name)
        yield name, chart


def _picture(found: Sequence[Chart], kind: Kind) -> bytes:
    with _matplotlib():
        figure = _figure(found)
        stream = io.BytesIO()
        figure.savefig(stream, format=kind, dpi=_DPI, metadata=_METADATA[kind])
    return stream.getvalue()


def _figure(found: Sequence[Chart]) -> Figure:
    from matplotlib.figure import Figure

    heights = [chart.height for chart in found]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(found), 1, height_ratios=heights, squeeze=False)
    for part, chart in zip(parts[:, 0], found, strict=True):
        axes = part.subplots()
        part.suptitle("\n".join(chart.title), x=0.01, ha="left", fontsize="large")
        chart.draw(axes)
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
