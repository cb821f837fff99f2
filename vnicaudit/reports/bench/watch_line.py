"""One line for each series of a watched path, after a run."""

from __future__ import annotations

from datetime import datetime, timezone

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import is_share
from vnicaudit.bench.judging.reasons import amount
from vnicaudit.bench.watching.changes import SEED, ChangePoint
from vnicaudit.bench.watching.state import SeriesState
from vnicaudit.reports.safe import safe


def watch_line(one: SeriesState) -> str:
    """``2026-11-26 13:00Z  iperf3.tcp.tx.c1.64k goodput: 9.41 Gb/s; no change in 168 runs``."""
    value = amount(one.last.value, one.metric.unit)
    head = f"{_time(one.last.time)}  {one.key.workload} {one.key.metric}: {value}"
    return safe(f"{head}; {_words(one)}")


def _words(one: SeriesState) -> str:
    if one.change is not None:
        return _changed(one, one.change)
    if not one.result.runs_judged:
        return f"not judged yet: {count(one.runs, 'run')} so far"
    if one.result.drifts:
        return "it drifts from day to day: a change cannot be dated"
    return f"no change in {count(one.result.runs_judged, 'run')}"


def _changed(one: SeriesState, change: ChangePoint) -> str:
    word = "WORSE" if change.worse else "BETTER"
    new = "new: " if one.is_new() else ""
    unit = "points" if is_share(one.metric) else "%"
    before, after = (amount(each, one.metric.unit) for each in (change.before, change.after))
    return (
        f"{new}{word} since {_time(change.since)}: {before} -> {after}, "
        f"{change.percent:+.1f} {unit} ({change.low:+.1f} to {change.high:+.1f}), "
        f"by {change.basis}, p {change.p:.4f} (permutations, seed {SEED}), "
        f"confirmed {_time(change.confirmed)}"
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
