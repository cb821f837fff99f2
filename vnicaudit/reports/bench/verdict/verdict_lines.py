"""The lines of a verdict: each primary value before and after, and its change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import difference
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Comparison, Effect, Workload
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import MetricRow
from vnicaudit.reports.bench.tables.table_text import vcpus_of
from vnicaudit.reports.bench.words.labels import (
    STYLES,
    change,
    metric_words,
    quantity,
    size,
    verdict_words,
)

_MOST = 6
"""Lines that can be read in five seconds; the others are in the table."""
_FACTOR = 2.0
"""Changes by at least this factor, up or down, are written as a factor."""
_PER_VCPU = ("goodput", "query_rate")

_RANK = ("regressed", "invalid", "generator-limited", "inconclusive")
"""Verdicts to show first if there is not enough room."""
_TITLES = {
    ("iperf3", "tcp"): "TCP", ("iperf3", "udp"): "UDP", ("iperf3", "udp-pps"): "UDP packets",
    ("dnsperf", "max"): "DNS queries", ("dnsperf", "capacity"): "DNS without loss",
    ("dnsperf", "rate"): "DNS at a fixed rate",
}  # fmt: skip
_DIRECTIONS = {"tx": " from the", "rx": " to the", "both": ""}


class VerdictLine(NamedTuple):
    """``values``: one for each arm. ``outcome``: one or two words, with its style; empty if nothing
    is compared. ``part``: it belongs to the line above."""

    name: str
    values: tuple[str, ...]
    change: str = ""
    interval: str = ""
    outcome: str = ""
    style: str = ""
    part: bool = False


def verdict_lines(
    result: BenchResult, table: Sequence[MetricRow], arm: str | None
) -> tuple[VerdictLine, ...]:
    """Lines of the deciding values. ``arm``: the arm compared with the first; None: all arms, not
    compared."""
    arms = result.arms if arm is None else (result.arms[0], arm)
    deciding = [row for row in table if _decides(row, arm)]
    names = _names(deciding, "guest" if all(path.domain for path in result.paths) else "target")
    shown = sorted(range(len(deciding)), key=lambda at: _rank(deciding[at], arm))[:_MOST]
    found = [
        line
        for at in sorted(shown)
        for line in _lines(deciding[at], names[at], arms, arm, vcpus_of(result))
    ]
    if len(deciding) > len(shown):
        more = count(len(deciding) - len(shown), "more line")
        found.append(VerdictLine(f"… {more} in the table below", ()))
    return tuple(found)


def _decides(row: MetricRow, arm: str | None) -> bool:
    if arm is None:
        return row.primary or (row.workload.primary and row.metric in row.workload.decides)
    return arm in row.compared and row.compared[arm].primary


def _rank(row: MetricRow, arm: str | None) -> int:
    verdict = row.compared[arm].verdict if arm in row.compared else ""
    return _RANK.index(verdict) if verdict in _RANK else len(_RANK)


def _lines(
    row: MetricRow, name: str, arms: Sequence[str], arm: str | None, vcpus: int | None
) -> Iterator[VerdictLine]:
    centres = [None if (one := row.arms.get(each)) is None else one.median for each in arms]
    effect = row.compared[arm].effect if arm in row.compared else None
    if effect is not None and effect.before is not None and len(arms) == 2:
        centres = [effect.before, effect.after]  # so that one is the other multiplied by the change
    values = tuple(_value(row, centre) for centre in centres)
    if arm is None:
        spread = [cells.median_parts(row, each)[-1].text for each in arms]
        yield VerdictLine(name, values, interval=spread[0] if len(arms) == 1 and centres[0] else "")
    else:
        compared = row.compared[arm]
        yield VerdictLine(
            name, values, change_of(compared), interval_of(compared),
            verdict_words(compared), STYLES[compared.verdict],
        )  # fmt: skip
    if row.metric in _PER_VCPU and vcpus:
        each = tuple(_value(row, None if one is None else one / vcpus) for one in centres)
        yield VerdictLine(f"per vCPU (of {vcpus})", each, part=True)


def _value(row: MetricRow, value: float | None) -> str:
    return cells.NOT_MEASURED if value is None else quantity(value, row.metric, row.unit)


def change_of(comparison: Comparison) -> str:
    """``59x``, ``+3.2 %``; positive is better. Large changes are written as a factor."""
    effect = comparison.effect
    if effect is None:
        return _difference(comparison)
    if (factor := _factor_words(comparison, effect)) is not None:
        return factor(effect.percent)
    return f"{_rounded(effect.percent)} {_unit(comparison)}"


def _difference(comparison: Comparison) -> str:
    """The difference of the medians where nothing is judged; else that there is no effect."""
    metric, sides = METRICS.get(comparison.metric), (comparison.before, comparison.after)
    if comparison.verdict != "not-judged" or metric is None or None in sides:
        return cells.NOT_MEASURED
    found = difference(metric, *(side.median for side in sides if side is not None))
    return cells.NOT_MEASURED if found is None else f"{_rounded(found)} {_unit(comparison)}"


def interval_of(comparison: Comparison) -> str:
    """``(55x to 63x)``, ``(-1.0 to +7.5 %)``: the 95 % interval."""
    effect = comparison.effect
    if effect is None:
        return ""
    if (factor := _factor_words(comparison, effect)) is not None:
        return f"({factor(effect.low95)} to {factor(effect.high95)})"
    return f"({_rounded(effect.low95)} to {_rounded(effect.high95)} {_unit(comparison)})"


def _unit(comparison: Comparison) -> str:
    return "points" if comparison.unit == "%" else "%"


def _rounded(value: float) -> str:
    """``+3.2``, ``-27``: rounded to be read at a glance."""
    return f"{value:+,.0f}" if 10 <= abs(value) < 1e6 else change(value)


def _factor_words(comparison: Comparison, effect: Effect) -> Callable[[float], str] | None:
    """Function that writes an effect as a factor; None: write it in per cent. Metrics for which
    lower is better are never written as factors, because a factor reads as an increase."""
    if comparison.better != "higher" or comparison.unit == "%":
        return None
    factor = 1 + effect.percent / 100
    if 1 / _FACTOR < factor < _FACTOR:
        return None
    return _times


def _times(percent: float) -> str:
    factor = 1 + percent / 100
    if factor >= 10:
        return f"{factor:,.0f}x"
    return f"{factor:.1f}x" if factor >= 1 else f"{factor:.2f}x"


def _names(table: Sequence[MetricRow], end: str) -> list[str]:
    """Short names, each with enough detail to be unique; else the id of the workload."""
    workloads = {row.workload.id: row.workload for row in table}
    titles = {key: _title(one, end) for key, one in workloads.items()}
    for more in (_state, _generators, _connections, _size, _rate):
        titles = _told_apart(titles, {key: more(one) for key, one in workloads.items()})
    taken = Counter(titles.values())
    titles = {key: title if taken[title] == 1 else key for key, title in titles.items()}
    metrics = Counter(row.metric for row in table)
    of_one = Counter(row.workload.id for row in table)
    return [
        titles[row.workload.id] if of_one[row.workload.id] == 1
        else metric_words(row.metric) if metrics[row.metric] == 1
        else f"{titles[row.workload.id]}, {metric_words(row.metric)}"
        for row in table
    ]  # fmt: skip


def _told_apart(titles: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """Add details to titles shared by several workloads, if the details distinguish any of them."""
    said: dict[str, set[str]] = {}
    for key, title in titles.items():
        said.setdefault(title, set()).add(more[key])
    return {
        key: f"{title}{more[key]}" if len(said[title]) > 1 else title
        for key, title in titles.items()
    }


def _title(workload: Workload, end: str) -> str:
    known = _TITLES.get((workload.engine, workload.pattern))
    way = _DIRECTIONS[workload.direction]
    return (known or f"{workload.engine} {workload.pattern}") + (f"{way} {end}" if way else "")


def _connections(workload: Workload) -> str:
    return f", {count(workload.connections, 'connection')}"


def _size(workload: Workload) -> str:
    return "" if workload.size is None else f", {size(workload.size)}"


def _rate(workload: Workload) -> str:
    return "" if workload.rate is None else f", {quantity(workload.rate, 'offered', '1/s')}"


def _state(workload: Workload) -> str:
    return f", {workload.state}" if workload.state else ""


def _generators(workload: Workload) -> str:
    return f", {count(workload.generators, 'generator')}"
