"""A measurement as rows: one metric of one workload, with the values of each arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.comparing import summary
from vnicaudit.bench.judging.effect import is_share, margin_of
from vnicaudit.bench.judging.sides import ceiling, path_of, side_of
from vnicaudit.bench.judging.verdict import effect_unit
from vnicaudit.bench.metrics import METRICS, change, quantity, scale_of
from vnicaudit.model.measurement import (
    OWN_TOOL,
    ArmSummary,
    BenchResult,
    Better,
    Comparison,
    GuardRail,
    Path,
    Sample,
    Workload,
)
from vnicaudit.reports.bench.labels import DESIGNS, metric_words
from vnicaudit.reports.model import Part

NOT_MEASURED = "-"
Values = dict[tuple[str, str, str], tuple[float, ...]]
"""(workload, metric, arm) -> values that count, in the order of the runs; never empty."""


class MetricRow(msgspec.Struct, frozen=True):
    """``arms``: arm -> its summary; None: it has no valid sample. ``compared``: arm -> its
    comparison with the first arm. ``spread``: arm -> smallest and largest value."""

    workload: Workload
    metric: str
    unit: str
    better: Better
    primary: bool
    arms: dict[str, ArmSummary | None]
    compared: dict[str, Comparison]
    spread: dict[str, tuple[float, float]]


def rows(result: BenchResult) -> Iterator[MetricRow]:
    """Workloads in the order of the profile; within each, the deciding metrics first."""
    values = values_that_count(result)
    compared: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in result.results:
        compared.setdefault((comparison.workload, comparison.metric), []).append(comparison)
    measured = {key[:2] for key in values} | compared.keys()
    for workload in result.workloads:
        found = {metric for name, metric in measured if name == workload.id}
        for metric in _ordered(workload, found):
            of_it = {arm: values.get((workload.id, metric, arm), ()) for arm in result.arms}
            allowed = {
                arm: ceiling(workload, metric, path_of(arm, result.paths)) for arm in result.arms
            }
            yield _row(workload, metric, compared.get((workload.id, metric), []), of_it, allowed)


def sample_size(table: Iterable[MetricRow]) -> str:
    """``n = 10``, or ``n = 7 to 10`` if rows or arms differ."""
    arms = [summary for row in table for summary in row.arms.values()]
    numbers = [0 if summary is None else summary.n for summary in arms]
    least, most = min(numbers, default=0), max(numbers, default=0)
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def values_that_count(result: BenchResult) -> Values:
    """The values that count, as used in comparisons: one for each run, or for each boot."""
    by_workload: dict[str, list[Sample]] = {}
    for sample in result.samples:
        by_workload.setdefault(sample.workload, []).append(sample)
    found: Values = {}
    for workload, samples in by_workload.items():
        metrics = dict.fromkeys(metric for sample in samples for metric in sample.values)
        for metric in metrics:
            for arm in result.arms:
                values = side_of(samples, workload, arm, metric, result.run).values
                if values:
                    found[workload, metric, arm] = values
    return found


def _ordered(workload: Workload, found: set[str]) -> Iterator[str]:
    for metric in dict.fromkeys((*workload.decides, *METRICS, *sorted(found))):
        if metric in found:
            yield metric


def _row(
    workload: Workload,
    metric: str,
    comparisons: list[Comparison],
    values: Mapping[str, tuple[float, ...]],
    allowed: Mapping[str, float | None],
) -> MetricRow:
    """``values``: arm -> values that count. ``allowed``: arm -> maximum allowed by its link."""
    known = METRICS.get(metric)
    unit, better = (known.unit, known.better) if known is not None else ("", "higher")
    summaries = {arm: summary(found, allowed[arm]) for arm, found in values.items()}
    for comparison in comparisons:
        unit, better = comparison.unit, comparison.better
        for arm, known_as in (
            (comparison.before_arm, comparison.before),
            (comparison.after_arm, comparison.after),
        ):
            summaries[arm] = known_as or summaries.get(arm)
    spread = {}
    for arm in summaries:
        if seen := values.get(arm):
            spread[arm] = (min(seen), max(seen))
    return MetricRow(
        workload, metric, unit, better,
        any(comparison.primary for comparison in comparisons)
        or (workload.primary and metric in workload.decides),
        summaries, {one.after_arm: one for one in comparisons if one.after_arm != one.before_arm},
        spread,
    )  # fmt: skip


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


def effect_parts(comparison: Comparison) -> tuple[Part, ...]:
    """``+3.2 %``, ``[-1.0, +7.5]``: the effect and its interval."""
    effect = comparison.effect
    if effect is None:
        return (Part(NOT_MEASURED),)
    interval = f"[{change(effect.low95)}, {change(effect.high95)}]"
    size = f"{change(effect.percent)} {effect_unit(comparison.unit)}"
    return Part(size), Part(interval, "aside")


# Sentences about a whole measurement, shared by reports for people; not escaped yet.


def facts(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[tuple[str, str]]:
    """How it was measured, as ``(label, text)``."""
    run = result.run
    if run.tool != OWN_TOOL:
        yield "tool", f"{run.tool} {run.version}".strip()
        yield "time", run.started or "not recorded"
    else:
        design = DESIGNS[run.design]
        yield "design", f"{design.name}: {design.means}"
        yield "runs", ", ".join(_runs(result, table))
        ended = run.finished or "not finished: it ended early"
        if margins := _margins(result, table):
            yield "margins", margins
        yield "time", f"{run.started} to {ended}"
    for path in result.paths if run.tool == OWN_TOOL else ():
        yield "path", path_words(path)
    yield from run.labels.items()
    for note in result.notes if result.decision is None else ():
        yield "note", note


def _runs(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[str]:
    run = result.run
    yield f"{sample_size(table)} per arm" if len(result.arms) > 1 else sample_size(table)
    if total := discarded_total(result):
        yield total
    if run.looks and result.decision is not None:
        pairs = zip(run.looks, run.alphas, strict=False)
        yield "judged at n = " + ", ".join(f"{look} (alpha {alpha:g})" for look, alpha in pairs)
    if run.max_steal is not None:
        yield f"none counts with more than {run.max_steal:g} % steal"
    yield f"seed {run.seed}"


def _margins(result: BenchResult, table: Sequence[MetricRow]) -> str:
    """``goodput, queries 5 %; latency p99 10 %``: the margins beyond which a difference counts."""
    if len(result.arms) < 2:
        return ""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(row.metric for row in table if row.primary):
        if metric := METRICS.get(name):
            unit = "points" if is_share(metric) else "%"
            margin = f"{margin_of(metric, result.run.margins):g} {unit}"
            found.setdefault(margin, []).append(metric_words(name))
    return "; ".join(f"{', '.join(names)} {margin}" for margin, names in found.items())


def path_words(path: Path) -> str:
    """``pod: ssh://node1 to kubectl://vm at 10.0.0.7, MTU 1500, line rate 100 Gb/s, vxlan``."""
    parts = [f"{path.name}: {path.peer} to {path.target} at {path.address}"]
    if path.nic is not None:
        parts.append(path.nic)
    if path.mtu is not None:
        parts.append(f"MTU {path.mtu}")
    if path.line_rate is not None:
        parts.append(f"line rate {quantity(path.line_rate, 'goodput')}")
    if path.encapsulation != "none":
        parts.append(path.encapsulation)
    if path.same_host is not None:
        parts.append("same host" if path.same_host else "across hosts")
    return ", ".join(parts)


def rail_words(rail: GuardRail) -> str:
    """``path MTU, after: tracepath is not installed``."""
    who = f"{rail.name}, {rail.arm}" if rail.arm else rail.name
    return f"{who}: {rail.detail}" if rail.detail else who


def guard_total(rails: Sequence[GuardRail]) -> str:
    """``12 guard rails: 10 ok, 1 failed, 1 unknown``."""
    parts = []
    for verdict in ("ok", "failed", "unknown"):
        number = sum(rail.verdict == verdict for rail in rails)
        if number:
            parts.append(f"{number:,} {verdict}")
    return f"{count(len(rails), 'guard rail')}: {', '.join(parts)}"


def discard_sentences(result: BenchResult) -> Iterator[str]:
    """``2 runs of before: steal 3.1 % of the run``, the most frequent reason first."""
    found = Counter(
        (sample.arm, sample.reason or "no reason recorded")
        for sample in result.samples
        if not sample.valid
    )
    for (arm, reason), number in sorted(found.items(), key=lambda item: -item[1]):
        yield f"{count(number, 'run')} of {arm}: {reason}"


def discarded_total(result: BenchResult) -> str:
    """``3 of 43 runs do not count``; empty if all count."""
    invalid = sum(not sample.valid for sample in result.samples)
    if not invalid:
        return ""
    does = "does" if invalid == 1 else "do"
    return f"{invalid:,} of {count(len(result.samples), 'run')} {does} not count"
