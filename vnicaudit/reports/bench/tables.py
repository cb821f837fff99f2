"""The table of everything measured, and the cells that it shares with the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import Comparison
from vnicaudit.reports.bench.labels import (
    STYLES,
    change,
    describe,
    metric_words,
    percent,
    scale_of,
    verdict_words,
)
from vnicaudit.reports.bench.rows import MetricRow
from vnicaudit.reports.table.model import Cell, Group, Part, Row, Table

NOT_MEASURED = "-"
_CAPTION = (
    "Medians; [a, b]: 95 % interval; (a to b): all runs, too few for an interval; of line: of what "
    "the line rate allows; effects: estimated from all runs, plus is better; (verdict): nothing is "
    "decided on it"
)


def measured_table(rows: Sequence[MetricRow], arms: Sequence[str]) -> Table:
    """Workload by workload, a row for each metric: the median of each arm with its interval; with
    two arms the effect and the verdict, with more those of each beside its median."""
    pair = len(arms) == 2 and any(row.compared for row in rows)
    found = tuple(
        Row(tuple(_cells(row, arms, pair=pair)), _group(rows, at)) for at, row in enumerate(rows)
    )
    heads = ("metric", *arms, *(("effect", "verdict") if pair else ()))
    return Table(_CAPTION, heads, found, grouped_by="Workload")


def _cells(row: MetricRow, arms: Sequence[str], *, pair: bool) -> Iterator[Cell]:
    yield metric_words(row.metric)
    for arm in arms:
        compared = () if pair or arm not in row.compared else _compared(row.compared[arm])
        yield (
            *median_parts(row, arm),
            *_line_rate(row, arm),
            *(p for cell in compared for p in cell),
        )
    if pair:
        yield from _compared(row.compared[arms[1]]) if arms[1] in row.compared else ("", "")


def _group(rows: Sequence[MetricRow], at: int) -> Group | None:
    """A heading for the workload, if it differs from that of the row before."""
    workload = rows[at].workload
    if at and rows[at - 1].workload.id == workload.id:
        return None
    return Group(workload.id, describe(workload))


def median_parts(row: MetricRow, arm: str) -> tuple[Part, ...]:
    """``248 Mb/s``, ``[241, 251]``: the median and its interval; without one, ``(230 to 260)``, the
    range of all values."""
    summary = row.arms.get(arm)
    if summary is None:
        return (Part(NOT_MEASURED),)
    scale, sure = scale_of(summary.median, row.metric, row.unit), ""
    low, high = row.spread.get(arm, (0.0, 0.0))
    if summary.low is not None and summary.high is not None:
        sure = f"[{scale.number(summary.low)}, {scale.number(summary.high)}]"
    elif low != high:
        sure = f"({scale.number(low)} to {scale.number(high)})"
    return Part(scale.text(summary.median)), Part(sure, "aside")


def _line_rate(row: MetricRow, arm: str) -> Iterator[Part]:
    summary = row.arms.get(arm)
    if summary is not None and summary.line_rate_percent is not None:
        yield Part(f"{percent(summary.line_rate_percent)} of line", "aside")


def _compared(comparison: Comparison) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The effect with its interval; the verdict, in parentheses if it did not count for the
    decision, with its notes."""
    effect, word = comparison.effect, verdict_words(comparison)
    shown: tuple[Part, ...] = (Part(NOT_MEASURED),)
    if effect is not None:
        interval = f"[{change(effect.low95)}, {change(effect.high95)}]"
        shown = (Part(f"{change(effect.percent)} {unit_of(comparison)}"), Part(interval, "aside"))
    verdict = Part(word, style=STYLES[comparison.verdict], strong=True)
    if not comparison.primary:
        verdict = Part(f"({word})", style="quiet")
    return shown, (verdict, *(Part(note, "note") for note in comparison.notes))


def unit_of(comparison: Comparison) -> str:
    """The unit of an effect: a metric that is itself a share (loss) changes by points."""
    return "points" if comparison.unit == "%" else "%"
