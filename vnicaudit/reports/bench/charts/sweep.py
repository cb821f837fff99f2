"""Curves over the message size, or over the number of connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Literal

from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.reports.bench.charts.chart import Chart, arm_style, chart_title, label, scale
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import MetricRow, rows, sample_size
from vnicaudit.reports.bench.words.labels import metric_title, metric_words, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Along = Literal["size", "connections"]

_SharedSettings = tuple[str, str, str, str, int, "float | None", "int | None"]

_FEWEST = 3
"""Minimum points for a curve."""
_AXES: dict[_Along, str] = {"size": "bytes of a message", "connections": "connections"}


def charts(result: BenchResult) -> Iterator[Chart]:
    """One chart for each set of workloads that differ only in message size, or only in
    connections."""
    table = [row for row in rows(result) if row.primary]
    numbers = count(1)
    for along in _AXES:
        sets: dict[tuple[_SharedSettings, str], list[MetricRow]] = {}
        for row in table:
            if _place(row, along) is not None:
                sets.setdefault((_shared_settings(row.workload, along), row.metric), []).append(row)
        for found in sets.values():
            if len({_place(row, along) for row in found}) >= _FEWEST:
                yield _chart(result, found, along, next(numbers))


def _place(row: MetricRow, along: _Along) -> int | None:
    return row.workload.size if along == "size" else row.workload.connections


def _shared_settings(workload: Workload, along: _Along) -> _SharedSettings:
    """Settings shared by all points of one curve."""
    other = workload.connections if along == "size" else workload.size
    kind = workload.engine, workload.pattern, workload.direction, workload.state
    return *kind, workload.generators, workload.rate, other


def _chart(result: BenchResult, found: list[MetricRow], along: _Along, number: int) -> Chart:
    points = sorted(found, key=lambda row: _place(row, along) or 0)
    first = points[0].workload
    what = f"{metric_title(points[0].metric)} by {_AXES[along]}: {first.engine} {first.pattern}"
    return Chart(
        name=f"sweep-{along}-{number}",
        title=chart_title(
            f"{what}, {first.direction}", result, f"{sample_size(points)}; bars: 95 %"
        ),
        about="; ".join(_point_words(row, along) for row in points),
        height=3.8,
        draw=partial(_draw, points, along, result.arms),
    )


def _point_words(row: MetricRow, along: _Along) -> str:
    medians = [f"{cells.median_parts(row, arm)[0].text} {arm}" for arm in row.arms]
    return f"{_tick(_place(row, along) or 0, along)}: {', '.join(medians)}"


def _tick(value: int, along: _Along) -> str:
    return size(value) if along == "size" else f"{value:,}"


def _draw(points: Sequence[MetricRow], along: _Along, arms: Sequence[str], axes: Axes) -> None:
    seen = [value for at, arm in enumerate(arms) for value in _curve(axes, points, along, arm, at)]
    scale(axes, "y", seen, points[0].metric, points[0].unit)
    axes.set_xscale("log", base=2)
    places = sorted({_place(row, along) or 0 for row in points})
    axes.set_xticks(places, [_tick(place, along) for place in places], minor=False)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel(_AXES[along])
    better = points[0].better
    axes.set_ylabel(f"{metric_words(points[0].metric)} ({better} is better)")
    axes.grid(color="0.88", linewidth=0.7)
    if len(arms) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _curve(
    axes: Axes, points: Sequence[MetricRow], along: _Along, arm: str, at: int
) -> list[float]:
    """Draw one arm; returns the values that the axis must include."""
    form = arm_style(at)
    known = [(_place(row, along) or 0, row.arms.get(arm)) for row in points]
    drawn = [(x, summary) for x, summary in known if summary is not None]
    medians = [summary.median for _, summary in drawn]
    axes.plot([x for x, _ in drawn], medians, form.line, marker=form.marker, color=form.color,
              markersize=5.5, label=label(arm, 24))  # fmt: skip
    for x, summary in drawn:
        if summary.low is not None and summary.high is not None:
            axes.plot([x, x], [summary.low, summary.high], "-", color=form.color, linewidth=1.4)
            medians += [summary.low, summary.high]
    return medians
