"""The cells of a row: what was measured, how sure that is, and what it means."""

from __future__ import annotations

from vnicaudit.model.measurement import Comparison, Effect, Summary
from vnicaudit.reports.bench.tables.grid import plain
from vnicaudit.reports.bench.tables.rows import Row
from vnicaudit.reports.bench.words.labels import STYLES, verdict_words
from vnicaudit.reports.bench.words.quantity import Scale, change, percent, scale_of
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.wrap import Piece

Cell = tuple[Piece, ...]

NOT_MEASURED = "-"


def measured(row: Row, arm: str) -> Cell:
    """``248 Mb/s``, ``[241, 251]``: the median and its interval, or where it has none the smallest
    and the largest value."""
    summary = row.arms.get(arm)
    if summary is None:
        return (plain(NOT_MEASURED),)
    scale = scale_of(summary.median, row.metric, row.unit)
    return plain(scale.text(summary.median)), plain(sureness(row, arm, summary, scale))


def sureness(row: Row, arm: str, summary: Summary, scale: Scale) -> str:
    """``[241, 251]``, the 95 % interval of the median; ``(230 to 260)``, all values; or nothing."""
    if summary.low is not None and summary.high is not None:
        return f"[{scale.number(summary.low)}, {scale.number(summary.high)}]"
    seen = row.spread.get(arm)
    if seen is None or seen[0] == seen[1]:
        return ""
    return f"({scale.number(seen[0])} to {scale.number(seen[1])})"


def has_interval(summary: Summary | None) -> bool:
    """Whether the median has an interval."""
    return summary is not None and summary.low is not None and summary.high is not None


def line_rate(row: Row, arm: str) -> Cell:
    """``83.0 %``."""
    summary = row.arms.get(arm)
    if summary is None or summary.line_rate_percent is None:
        return (plain(NOT_MEASURED),)
    return (plain(percent(summary.line_rate_percent)),)


def has_line_rate(row: Row) -> bool:
    """Whether any arm has a share of the line rate."""
    return any(one is not None and one.line_rate_percent is not None for one in row.arms.values())


def effect(comparison: Comparison | None) -> Cell:
    """``+3,050 %``, ``[+2,980, +3,120]``."""
    if comparison is None or comparison.effect is None:
        return (plain(NOT_MEASURED),)
    return plain(effect_words(comparison)), plain(interval_words(comparison.effect))


def effect_words(comparison: Comparison) -> str:
    """``+3,050 %``: positive is better. What is a share itself (loss) changes by points."""
    if comparison.effect is None:
        return ""
    return f"{change(comparison.effect.percent)} {'points' if comparison.unit == '%' else '%'}"


def interval_words(found: Effect) -> str:
    """``[+2,980, +3,120]``: 95 %."""
    return f"[{change(found.low95)}, {change(found.high95)}]"


def verdict(comparison: Comparison | None, paint: Paint) -> Cell:
    """The word, coloured; in parentheses where nothing was decided on it."""
    if comparison is None:
        return (plain(""),)
    word = verdict_words(comparison.verdict)
    if not comparison.primary:
        return (Piece(f"({word})", paint("quiet", f"({word})")),)
    return (Piece(word, paint(STYLES.get(comparison.verdict, ""), word)),)
