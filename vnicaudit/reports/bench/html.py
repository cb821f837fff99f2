"""A measurement as one HTML page: the verdict, tables, charts, and how it was measured.

A chart shows one metric: a line for each workload and arm, a faint dot for each run that counts,
the median, and its interval. It is SVG of our own: an axis and circles need no library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench.metrics import scale_of
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.as_html import head, section_text, stylesheet, text
from vnicaudit.reports.bench.labels import metric_title, metric_words
from vnicaudit.reports.bench.rows import MetricRow, median_parts, rows, values_that_count
from vnicaudit.reports.bench.sections import sections
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Options


def page(result: BenchResult, options: Options) -> Iterator[str]:
    """The page, with everything that is known: no script, no font, no external address. It follows
    the system's dark mode, and on a narrow page each row of its main table becomes a list. Colours
    and policy are shared by all pages; its style is in ``templates/bench/``."""
    title = safe(f"vnicaudit bench: {result.run.profile}, {result.run.id}")
    yield f"{head(title, stylesheet('bench/report.css'))}<body>\n<main>\n"
    drawn = False
    for number, section in enumerate(sections(result, replace(options, verbose=True, quiet=False))):
        if section.aside and not drawn:
            drawn = True
            for chart in charts(result, list(rows(result))):
                yield f"<figure>{chart}</figure>\n"
        yield from section_text(section, "h2" if number else "h1")
    yield f"</main>\n<footer>{text(f'{result.run.tool} {result.run.version}')}</footer>"
    yield "\n</body>\n</html>\n"


_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito: distinguishable with any colour vision, on white and on black."""
_LEFT, _WIDE, _STEP = 260, 480, 22
_MOST = 60
"""Lines of one chart; the others are in the table."""
_DECADES = 10.0
"""Ratio of the largest to the smallest value above which the scale is logarithmic."""
_LONGEST = 40


class _Axis(NamedTuple):
    """``low`` 0: linear, so that a small difference looks small."""

    low: float
    high: float

    def place(self, value: float) -> float:
        if not self.low:
            return _LEFT + _WIDE * value / self.high
        return _LEFT + _WIDE * math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        shares = [at / 4 for at in range(5)]
        if not self.low:
            return [share * self.high for share in shares]
        return [self.low * (self.high / self.low) ** share for share in shares]


def charts(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[str]:
    """An ``<svg>`` for each metric that decides; if nothing decides, for each."""
    deciding = [row for row in table if row.primary] or list(table)
    values = values_that_count(result)
    for number, metric in enumerate(dict.fromkeys(row.metric for row in deciding)):
        lines = [
            (row, arm, values[row.workload.id, metric, arm])
            for row in deciding
            for arm in result.arms
            if row.metric == metric and row.arms.get(arm) is not None
            and (row.workload.id, metric, arm) in values
        ]  # fmt: skip
        if lines:
            yield "".join(_chart(number, lines[:_MOST], result.arms))


_Line = tuple[MetricRow, str, tuple[float, ...]]


def _chart(number: int, lines: Sequence[_Line], arms: Sequence[str]) -> Iterator[str]:
    row = lines[0][0]
    axis, bottom = _axis(lines), _STEP * (len(lines) + 2)
    about = "; ".join(f"{one.workload.id}, {arm}: {median_parts(one, arm)[0].text}"
                      for one, arm, _ in lines)  # fmt: skip
    title = f"{metric_title(row.metric)} ({row.better} is better)"
    yield f'<svg viewBox="0 0 {_LEFT + _WIDE + 60} {bottom + 20}" role="img" '
    yield f'aria-labelledby="t{number} d{number}"><title id="t{number}">{text(title)}</title>'
    yield f'<desc id="d{number}">{text(about)}</desc>'
    yield _words(0, 14, f"{metric_words(row.metric)} ({row.better} is better)")
    for value in axis.ticks():
        x, scale = axis.place(value), scale_of(value, row.metric, row.unit)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_STEP}" y2="{bottom}" stroke="var(--rule)"/>'
        yield _words(x, bottom + 16, scale.text(value) if value else "0", "middle")
    for at, line in enumerate(lines):
        yield from _arm(axis, _STEP * (at + 1.8), line, arms)
    yield "</svg>"


def _arm(axis: _Axis, y: float, line: _Line, arms: Sequence[str]) -> Iterator[str]:
    row, arm, runs = line
    color = _COLORS[arms.index(arm) % len(_COLORS)]
    yield _words(_LEFT - 12, y + 4, f"{row.workload.id}, {arm}"[-_LONGEST:], "end")
    for value in runs:
        yield f'<circle cx="{axis.place(value):.1f}" cy="{y}" r="3" fill="{color}" opacity=".35"/>'
    summary = row.arms[arm]
    if summary is None:
        return
    if summary.low is not None and summary.high is not None:
        ends = f'x1="{axis.place(summary.low):.1f}" x2="{axis.place(summary.high):.1f}"'
        yield f'<line {ends} y1="{y}" y2="{y}" stroke="{color}" stroke-width="2"/>'
    yield f'<circle cx="{axis.place(summary.median):.1f}" cy="{y}" r="5" fill="{color}"/>'


def _axis(lines: Sequence[_Line]) -> _Axis:
    seen = [value for row, arm, runs in lines for value in (*runs, _median(row, arm))]
    low, high = min(seen), max(seen)
    return _Axis(low if low > 0 and high / low > _DECADES else 0.0, high or 1.0)


def _median(row: MetricRow, arm: str) -> float:
    summary = row.arms[arm]
    return 0.0 if summary is None else summary.median


def _words(x: float, y: float, words: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="12">{text(words)}</text>'
