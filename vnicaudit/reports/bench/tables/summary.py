"""Sentences about a whole measurement, shared by reports for people; not escaped yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import is_share, margin_of
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, GuardRail, Path
from vnicaudit.reports.bench.tables.rows import Drop, MetricRow, sample_size
from vnicaudit.reports.bench.words.labels import DESIGNS, metric_words
from vnicaudit.reports.bench.words.quantity import change, quantity


def facts(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[tuple[str, str]]:
    """How it was measured, as ``(label, text)``."""
    run = result.run
    design = DESIGNS[run.design]
    yield "design", f"{design.name}: {design.means}"
    yield "runs", ", ".join(_runs(result, table))
    ended = run.finished or "not finished: it ended early"
    if margins := _margins(result, table):
        yield "margins", margins
    yield "time", f"{run.started} to {ended}"
    for path in result.paths:
        yield "path", path_words(path)
    yield from run.labels.items()


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


def drop_words(drop: Drop) -> str:
    """``iperf3.tcp.tx.c25 goodput: 94.1 Gb/s on node, 68.9 Gb/s on pod: -26.8 %``."""
    one, other = drop.row.arms[drop.upper], drop.row.arms[drop.lower]
    if one is None or other is None:
        return ""
    metric, unit = drop.row.metric, drop.row.unit
    upper, lower = (quantity(summary.median, metric, unit) for summary in (one, other))
    name = f"{drop.row.workload.id} {metric_words(metric)}"
    where = f"{upper} on {drop.upper}, {lower} on {drop.lower}"
    return f"{name}: {where}: {change(drop.change)} {'points' if drop.row.unit == '%' else '%'}"


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
