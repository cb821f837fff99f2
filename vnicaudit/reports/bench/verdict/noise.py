"""Causes of noise in a measurement, as far as the result shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import is_share, margin_of
from vnicaudit.bench.judging.reasons import rail_words
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Covariates
from vnicaudit.reports.bench.tables.rows import MetricRow
from vnicaudit.reports.bench.tables.summary import discarded_total
from vnicaudit.reports.bench.words.quantity import percent

_WAITS: tuple[tuple[str, Callable[[Covariates], float | None]], ...] = (
    ("the guest's vCPUs waited for a CPU", lambda one: one.vcpu_delay),
    ("others took CPU time of the target (steal)", lambda one: one.target_steal),
    ("others took CPU time of the peer (steal)", lambda one: one.peer_steal),
    ("a CPU quota throttled one end", lambda one: one.throttled),
)
_NOTICED = 2.0
"""Waits of at least this many per cent of a run are reported."""
_SAID_ELSEWHERE = ("more were invalid", "more did not count", "not measured")
_EVERYWHERE = ("drift", "trend", "band", "level")
_MOST_NOTES = 3


def noise(result: BenchResult, table: Sequence[MetricRow], arms: Sequence[str]) -> Iterator[str]:
    """One sentence for each cause of noise, and one for the guard rails."""
    yield from _spread(result, table, arms)
    yield from _waits(result)
    yield from _notes(result, arms)
    yield from _not_counted(result)
    yield from _rails(result)


def _spread(result: BenchResult, table: Sequence[MetricRow], arms: Sequence[str]) -> Iterator[str]:
    """The widest spread among deciding values, if it exceeds the margin."""
    found = [
        (100 * summary.cv, row, arm)
        for row in table
        for arm in arms
        if row.primary and row.metric in METRICS and not is_share(METRICS[row.metric])
        and (summary := row.arms.get(arm)) is not None and summary.cv is not None
    ]  # fmt: skip
    if not found:
        return
    widest, row, arm = max(found, key=lambda one: one[0])
    if widest > margin_of(METRICS[row.metric], result.run.margins):
        yield f"runs of {row.workload.id} in {arm} differ by {percent(widest)} from one another"


def _waits(result: BenchResult) -> Iterator[str]:
    for words, of in _WAITS:
        shares = [share for one in result.samples if (share := of(one.covariates)) is not None]
        if shares and max(shares) > _NOTICED:
            usual, most = percent(median(shares)), percent(max(shares))
            yield f"{words} {usual} of the time, {most} in the worst run"


def _notes(result: BenchResult, arms: Sequence[str]) -> Iterator[str]:
    """Notes on deciding comparisons that concern the runs of an arm (they start with its name), or
    drift."""
    begin = tuple(f"{arm}: " for arm in arms)
    notes = dict.fromkeys(
        f"{comparison.workload}: {note}"
        for comparison in result.results
        for note in comparison.notes
        if comparison.primary and comparison.after_arm in arms
        and (note.startswith(begin) or any(word in note for word in _EVERYWHERE))
        and not any(words in note for words in _SAID_ELSEWHERE)
    )  # fmt: skip
    yield from list(notes)[:_MOST_NOTES]


def _not_counted(result: BenchResult) -> Iterator[str]:
    total = discarded_total(result)
    reasons = Counter(one.reason for one in result.samples if not one.valid and one.reason)
    if total and reasons:
        reason, number = reasons.most_common(1)[0]
        yield f"{total}, {number:,} of them: {reason}"
    elif total:
        yield total


def _rails(result: BenchResult) -> Iterator[str]:
    rails = result.guard_rails
    if rails and all(rail.verdict == "ok" for rail in rails):
        yield f"all guard rails hold ({len(rails)})"
    yield from [rail_words(rail) for rail in rails if rail.verdict == "failed"][:_MOST_NOTES]
    if unknown := list(dict.fromkeys(rail.name for rail in rails if rail.verdict == "unknown")):
        yield f"{count(len(unknown), 'guard rail')} could not be checked: {', '.join(unknown)}"
