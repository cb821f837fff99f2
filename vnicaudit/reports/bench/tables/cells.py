"""The cells of a row: the measured value, its uncertainty, and its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.measurement import ArmSummary, Comparison, Effect
from vnicaudit.reports.bench.tables.rows import MetricRow
from vnicaudit.reports.bench.words.labels import (
    STYLES,
    Scale,
    change,
    percent,
    scale_of,
    verdict_words,
)
from vnicaudit.reports.table.model import Part

Parts = tuple[Part, ...]

NOT_MEASURED = "-"


def median_parts(row: MetricRow, arm: str) -> Parts:
    """``248 Mb/s``, ``[241, 251]``: the median and its interval; without an interval, the smallest
    and largest value."""
    summary = row.arms.get(arm)
    if summary is None:
        return (Part(NOT_MEASURED),)
    scale = scale_of(summary.median, row.metric, row.unit)
    return Part(scale.text(summary.median)), Part(sureness(row, arm, summary, scale), "aside")


def sureness(row: MetricRow, arm: str, summary: ArmSummary, scale: Scale) -> str:
    """``[241, 251]``: the 95 % interval of the median; or ``(230 to 260)``: the range of all
    values; or nothing."""
    if summary.low is not None and summary.high is not None:
        return f"[{scale.number(summary.low)}, {scale.number(summary.high)}]"
    seen = row.spread.get(arm)
    if seen is None or seen[0] == seen[1]:
        return ""
    return f"({scale.number(seen[0])} to {scale.number(seen[1])})"


def has_interval(summary: ArmSummary | None) -> bool:
    """True if the median of an arm has a confidence interval."""
    return summary is not None and summary.low is not None and summary.high is not None


def line_rate(row: MetricRow, arm: str) -> str:
    """The median of an arm as a share of its line rate: ``83.0 %``."""
    summary = row.arms.get(arm)
    if summary is None or summary.line_rate_percent is None:
        return NOT_MEASURED
    return percent(summary.line_rate_percent)


def has_line_rate(row: MetricRow) -> bool:
    """True if any arm has a share of the line rate."""
    return any(one is not None and one.line_rate_percent is not None for one in row.arms.values())


def effect(comparison: Comparison | None) -> Parts:
    """``+3,050 %``, ``[+2,980, +3,120]``."""
    if comparison is None or comparison.effect is None:
        return (Part(NOT_MEASURED),)
    return Part(effect_words(comparison)), Part(interval_words(comparison.effect), "aside")


def effect_words(comparison: Comparison) -> str:
    """``+3,050 %``; positive is better. A metric that is itself a share (loss) changes by
    points."""
    if comparison.effect is None:
        return ""
    return f"{change(comparison.effect.percent)} {'points' if comparison.unit == '%' else '%'}"


def interval_words(found: Effect) -> str:
    """``[+2,980, +3,120]``: the 95 % interval."""
    return f"[{change(found.low95)}, {change(found.high95)}]"


def verdict(comparison: Comparison | None) -> Parts:
    """The verdict with its colour, in parentheses if the comparison did not count for the
    decision."""
    if comparison is None:
        return ()
    word = verdict_words(comparison)
    if not comparison.primary:
        return (Part(f"({word})", style="quiet"),)
    return (Part(word, style=STYLES.get(comparison.verdict, ""), strong=True),)


def notes(comparison: Comparison | None) -> Iterator[Part]:
    """Remarks on a comparison that are shown next to its verdict."""
    for note in () if comparison is None else comparison.notes:
        yield Part(note, "note")
