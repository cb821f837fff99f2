"""How to decide an open measurement, and how long that takes.

With several primary comparisons, each is planned for its share of the error probability
(Bonferroni's, which is never above Holm's).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.clock import seconds_between
from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import TURNS, is_share, margin_of
from vnicaudit.bench.judging.runs_needed import MOST_RUNS, runs_to_show, shown_by, spread_of
from vnicaudit.bench.judging.terms import MOST_ALPHA
from vnicaudit.bench.judging.verdict import may_be_chance
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables.rows import MetricRow, values_that_count
from vnicaudit.reports.bench.words.quantity import digits, duration


class _Open(NamedTuple):
    """A comparison that was not decided. ``margin`` and ``spread`` are on its scale: logarithms, or
    points of a share."""

    row: MetricRow
    margin: float
    spread: float
    runs: int
    share: bool
    alone: bool
    """True if it would be a difference as the only comparison."""


def outlook(result: BenchResult, table: Sequence[MetricRow], arm: str) -> Iterator[str]:
    """Sentences on what these runs cannot detect, and how many runs could."""
    found = list(_undecided(result, table, arm))
    if not found:
        return
    many = _primaries(table, arm)
    alpha = MOST_ALPHA / many
    worst = max(found, key=lambda one: one.spread / one.margin)
    seen = shown_by(worst.runs, worst.spread, alpha=alpha)
    margin = _size(worst.margin, share=worst.share)
    yield (
        f"{count(worst.runs, _unit(result))} of each arm show a difference of about "
        f"{_size(seen, share=worst.share)} or more ({worst.row.workload.id}); {margin} would matter"
    )
    needed = runs_to_show(worst.margin, worst.spread, alpha=alpha)
    if needed is not None and needed > worst.runs:
        cost = _cost(result, needed)
        yield f"about {needed} {_unit(result)}s of each arm would show {margin}{cost}"
        yield from _fewer(found, many)
    elif needed is not None:
        yield (
            f"that many show {margin} in four out of five measurements: this is the fifth, "
            f"or the difference is about {margin}; measure again"
        )
        yield from _fewer(found, many)
    else:
        yield (
            f"more than {MOST_RUNS} {_unit(result)}s of each arm would be needed: reduce the noise"
        )


def _primaries(table: Sequence[MetricRow], arm: str) -> int:
    """Number of comparisons that the verdict depends on."""
    compared = (row.compared.get(arm) for row in table)
    return max(1, sum(one is not None and one.primary for one in compared))


def _fewer(found: Sequence[_Open], many: int) -> Iterator[str]:
    """A hint for metrics that differ on their own, though perhaps by chance among ``many``."""
    if any(one.alone for one in found):
        yield (
            f"on its own that is a difference; among {many} primary comparisons it may be chance: "
            "take comparisons that need not decide out of `primary`"
        )


def _undecided(result: BenchResult, table: Sequence[MetricRow], arm: str) -> Iterator[_Open]:
    values = values_that_count(result)
    for row in table:
        compared = row.compared.get(arm)
        metric = METRICS.get(row.metric)
        if compared is None or metric is None or not compared.primary:
            continue
        if compared.verdict not in ("inconclusive", "not-worse"):
            continue
        share = is_share(metric)
        arms = [values.get((row.workload.id, row.metric, one), ()) for one in (result.arms[0], arm)]
        spread = spread_of(*arms, logarithms=not share)
        margin = margin_of(metric, result.run.margins)
        margin = margin if share else math.log1p(margin / 100)
        if spread is not None and spread > 0 and margin > 0:
            alone = _is_alone_a_difference(compared)
            yield _Open(row, margin, spread, min(map(len, arms)), share, alone)


def _is_alone_a_difference(compared: Comparison) -> bool:
    """True if a note of the comparison says so."""
    return may_be_chance(compared) in compared.notes


def _size(difference: float, *, share: bool) -> str:
    if share:
        return f"{digits(difference)} points"
    return f"{100 * math.expm1(difference):.0f} %"


def _unit(result: BenchResult) -> str:
    return "turn" if result.run.design in TURNS else "run"


def _cost(result: BenchResult, needed: int) -> str:
    """``: about 52 min (--repeats 34)``."""
    seconds = _seconds_of_a_run(result)
    if seconds is None:
        return ""
    whole = needed * len(result.arms) * len(result.workloads) * seconds
    if result.run.design in TURNS:
        return f": about {duration(_rounded(whole * result.run.runs_per_turn))}"
    return f": about {duration(_rounded(whole))} (--repeats {needed})"


def _seconds_of_a_run(result: BenchResult) -> float | None:
    """Mean seconds of a run, from the start of the first run to that of the last, with everything
    in between."""
    if len(result.samples) < 2:
        return None
    ordered = sorted(one.started for one in result.samples)
    seconds = seconds_between(ordered[0], ordered[-1])
    slots = {(one.workload, one.arm, one.block) for one in result.samples}
    return seconds / (len(slots) - 1) if seconds and len(slots) > 1 else None


def _rounded(seconds: float) -> float:
    """Round to the precision of "about"."""
    step = 10 if seconds < 120 else 60
    return max(step, step * round(seconds / step))
