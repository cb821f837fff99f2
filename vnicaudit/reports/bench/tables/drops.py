"""Several paths side by side: between which two of them a value drops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.effect import is_share, margin_of
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.tables.rows import MetricRow


class Drop(NamedTuple):
    """The change from ``upper`` to ``lower``, two neighbours in the order of the paths. ``change``
    of the median: in per cent, or in percentage points for a share."""

    row: MetricRow
    upper: str
    lower: str
    change: float


def drops(table: Iterable[MetricRow], result: BenchResult) -> Iterator[Drop]:
    """The largest step for the worse in each deciding row, if it exceeds the margin."""
    for row in table:
        steps = list(_steps(row, result.arms)) if row.primary and row.metric in METRICS else []
        if not steps:
            continue
        worst = min(steps, key=lambda step: _better(row, step.change))
        if -_better(row, worst.change) > margin_of(METRICS[row.metric], result.run.margins):
            yield worst


def _better(row: MetricRow, change: float) -> float:
    return change if row.better == "higher" else -change


def _steps(row: MetricRow, arms: tuple[str, ...]) -> Iterator[Drop]:
    """Steps between neighbours that were measured."""
    share = is_share(METRICS[row.metric])
    found = ((arm, row.arms.get(arm)) for arm in arms)
    medians = [(arm, summary.median) for arm, summary in found if summary is not None]
    for (upper, one), (lower, other) in pairwise(medians):
        if share:
            yield Drop(row, upper, lower, other - one)
        elif one > 0:
            yield Drop(row, upper, lower, 100 * (other / one - 1))
