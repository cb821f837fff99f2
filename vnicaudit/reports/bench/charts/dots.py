"""Medians with their intervals, one arm beside the other. Each run that counts is a faint dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vnicaudit.model.measurement import ArmSummary, BenchResult
from vnicaudit.reports.bench.charts.chart import Chart, arm_style, chart_title, label, scale
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import (
    MetricRow,
    Values,
    rows,
    sample_size,
    values_that_count,
)
from vnicaudit.reports.bench.words.labels import metric_title, metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 60
"""Maximum workloads in one chart; the others are only in the tables."""
_STEP = 0.26
"""Inches per arm of a workload."""


def charts(result: BenchResult) -> Iterator[Chart]:
    """One chart for each deciding metric; if nothing is decided, one for each metric."""
    table = list(rows(result))
    values = values_that_count(result)
    deciding = [row for row in table if row.primary] or table
    for metric in dict.fromkeys(row.metric for row in deciding):
        mine = [row for row in deciding if row.metric == metric and any(row.arms.values())]
        if mine:
            yield _chart(result, mine, values)


def _chart(result: BenchResult, table: list[MetricRow], values: Values) -> Chart:
    shown, metric = table[:_MOST], table[0].metric
    more = f" (the first {_MOST} of {len(table)} workloads)" if len(table) > _MOST else ""
    title = f"{metric_title(metric)}: {', '.join(result.arms)}{more}"
    return Chart(
        name=f"dots-{metric}",
        title=chart_title(title, result, _legend(table)),
        about="; ".join(_row_words(row) for row in shown),
        height=1.3 + len(shown) * (_STEP * len(result.arms) + 0.14),
        draw=partial(_draw, shown, result.arms, values),
    )


def _legend(table: Sequence[MetricRow]) -> str:
    sure = any(cells.has_interval(one) for row in table for one in row.arms.values())
    return f"{sample_size(table)}; {'bars: 95 % intervals, ' if sure else ''}dots: runs"


def _row_words(row: MetricRow) -> str:
    """``iperf3.tcp.tx.c1.64k: goodput 248 Mb/s before, 7.81 Gb/s after``."""
    medians = [f"{cells.median_parts(row, arm)[0].text} {arm}" for arm in row.arms]
    return f"{row.workload.id}: {metric_words(row.metric)} {', '.join(medians)}"


def _draw(table: Sequence[MetricRow], arms: Sequence[str], values: Values, axes: Axes) -> None:
    seen: list[float] = []
    for at, arm in enumerate(arms):
        for line, row in enumerate(table):
            runs = values.get((row.workload.id, row.metric, arm), ())
            seen.extend(_arm(axes, line + _offset(at, len(arms)), at, row.arms.get(arm), runs))
        form = arm_style(at)
        axes.plot([], [], form.marker, color=form.color, label=label(arm, 24))
    scale(axes, "x", seen, table[0].metric, table[0].unit)
    axes.set_yticks(range(len(table)), [label(row.workload.id) for row in table])
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.88", linewidth=0.7)
    axes.set_xlabel(f"{metric_words(table[0].metric)} ({table[0].better} is better)")
    if len(arms) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _offset(at: int, arms: int) -> float:
    """Vertical offset of an arm, so that all arms of a workload are within 0.6 of its line."""
    return 0.0 if arms == 1 else 0.6 * (at / (arms - 1) - 0.5)


def _arm(
    axes: Axes, place: float, at: int, summary: ArmSummary | None, runs: Sequence[float]
) -> list[float]:
    """Draw one arm of one workload; returns the values that the axis must include."""
    if summary is None:
        return []
    form, ends = arm_style(at), [summary.median, *runs]
    axes.plot(runs, [place] * len(runs), ".", color=form.color, alpha=0.35, markersize=4)
    if summary.low is not None and summary.high is not None:
        axes.plot([summary.low, summary.high], [place] * 2, "-", color=form.color, linewidth=1.8)
        ends += [summary.low, summary.high]
    axes.plot([summary.median], [place], form.marker, color=form.color, markersize=6.5)
    return ends
