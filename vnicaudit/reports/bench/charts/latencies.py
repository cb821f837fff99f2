"""Percentiles of latency, from the histograms of all requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vnicaudit.bench.histogram import Histogram, decode, sum_of_histograms
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.reports.bench.charts.chart import Chart, arm_style, chart_title, label, scale
from vnicaudit.reports.bench.words.labels import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAID = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
_STEPS = 12
"""Points per decade of a curve."""
_NS = 1000.0
"""Histograms count nanoseconds; latencies are shown in microseconds or more."""

_Runs = dict[str, list[Histogram]]


def charts(result: BenchResult) -> Iterator[Chart]:
    """One chart for each workload whose runs stored all latencies."""
    for workload in result.workloads:
        runs = _runs(result, workload)
        if any(runs.values()):
            yield _chart(result, workload, runs)


def _runs(result: BenchResult, workload: Workload) -> _Runs:
    """Arm -> histograms of its runs that count and have at least one request."""
    found: _Runs = {arm: [] for arm in result.arms}
    for sample in result.samples:
        if sample.workload == workload.id and sample.valid and sample.histogram is not None:
            histogram = decode(sample.histogram)
            if histogram.total and sample.arm in found:
                found[sample.arm].append(histogram)
    return found


def _chart(result: BenchResult, workload: Workload, runs: _Runs) -> Chart:
    numbers = sorted({len(found) for found in runs.values()})
    n = f"n = {numbers[0]}" if len(numbers) == 1 else f"n = {numbers[0]} to {numbers[-1]}"
    return Chart(
        name=f"latency-{workload.id}",
        title=chart_title(f"Latency, {workload.id}", result, f"{n}; thin lines: runs"),
        about="; ".join(_arm_words(arm, found) for arm, found in runs.items() if found),
        height=3.8,
        draw=partial(_draw, runs),
    )


def _arm_words(arm: str, found: Sequence[Histogram]) -> str:
    """``before: 50 % within 412 µs, 99 % within 1.64 ms``."""
    whole = sum_of_histograms(found)
    parts = [
        f"{percentile:g} % within {quantity(_latency(whole, percentile), 'latency_p99')}"
        for percentile in _SAID
        if whole.total >= 100 / (100 - percentile)
    ]
    return f"{arm}: {', '.join(parts)}"


def _latency(histogram: Histogram, percentile: float) -> float:
    return histogram.value_at_percentile(percentile) / _NS


def _draw(runs: _Runs, axes: Axes) -> None:
    seen: list[float] = []
    for at, (arm, found) in enumerate(runs.items()):
        if not found:
            continue
        form = arm_style(at)
        for histogram in found:
            axes.plot(*_points(histogram), "-", color=form.color, alpha=0.25, linewidth=0.7)
        x, y = _points(sum_of_histograms(found))
        axes.plot(x, y, form.line, color=form.color, linewidth=1.8, label=label(arm, 24))
        seen += y
    scale(axes, "y", seen, "latency_p99", "us")
    most = max(sum_of_histograms(found).total for found in runs.values() if found)
    axes.set_xscale("log")
    ticks = [percentile for percentile in _SAID if _rarity(percentile) <= most]
    axes.set_xticks(
        [_rarity(percentile) for percentile in ticks], [f"{percentile:g} %" for percentile in ticks]
    )
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("requests answered within")
    axes.set_ylabel("latency (lower is better)")
    axes.grid(color="0.88", linewidth=0.7)
    if len(runs) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _rarity(percentile: float) -> float:
    """Rarity of slower requests: 100 for the 99th percentile, since one request in 100 is
    slower."""
    return 100 / (100 - percentile)


def _points(histogram: Histogram) -> tuple[list[float], list[float]]:
    """The curve, as far as there are enough requests for it."""
    rarities, rarity = [1.0], 1.0
    while (rarity := rarity * 10 ** (1 / _STEPS)) <= histogram.total:
        rarities.append(rarity)
    return rarities, [_latency(histogram, 100 - 100 / rarity) for rarity in rarities]
