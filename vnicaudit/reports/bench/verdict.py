"""The verdict for a tired operator: the word, the subject, before and after, the reasons, and what
to do next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from vnicaudit.base.deadlines import seconds_between
from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import TURNS, difference, is_share, margin_of
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.judging.terms import MOST_ALPHA, MOST_RUNS, Terms, runs_to_show, spread_of
from vnicaudit.bench.judging.verdict import decide, effect_unit, rail_words, workload_and_metric
from vnicaudit.bench.metrics import METRICS, change, digits, quantity
from vnicaudit.model.measurement import (
    BenchResult,
    Comparison,
    Covariates,
    Decision,
    Verdict,
    Workload,
)
from vnicaudit.reports.bench.labels import (
    ACTIONS,
    DONE,
    MEANINGS,
    STYLES,
    change_words,
    duration,
    guest_of,
    metric_words,
    percent,
    size,
    verdict_words,
    word_of,
)
from vnicaudit.reports.bench.matrix import vcpus_of
from vnicaudit.reports.bench.rows import (
    NOT_MEASURED,
    MetricRow,
    discarded_total,
    median_parts,
    values_that_count,
)
from vnicaudit.reports.model import Cell, Part, ReportSection, Row, Table

_DONE_WORDS = {
    "kept": "KEPT",
    "rolled-back": "ROLLED BACK",
    "not-rolled-back": "NOT ROLLED BACK",
}
_OPEN: frozenset[Verdict] = frozenset({"inconclusive", "generator-limited", "invalid"})
"""Verdicts shown by their own word, even after the change was kept or rolled back."""
_STYLES = {
    "KEPT": "good", "BETTER": "good", "ROLLED BACK": "bad", "WORSE": "bad",
    "NOT ROLLED BACK": "bad", "UNDECIDED": "medium", "NOT MEASURED": "medium",
    "TOO FEW RUNS": "medium", "NO DIFFERENCE": "fix", "NOT WORSE": "fix", "MEASURED": "name",
    "NOT JUDGED": "name",
}  # fmt: skip
_REASONS = 3


def verdicts(
    result: BenchResult, table: Sequence[MetricRow], *, quiet: bool = False
) -> Iterator[ReportSection]:
    """The verdict on each arm compared with the first; a single one if nothing is compared.

    The title is the verdict in capitals, beside it the guest and the change, the duration and the
    number of runs; below it the meaning of the word, and what was done; then each deciding value,
    before and after, the reasons that no line shows, how to decide it, and (unless ``quiet``)
    causes of noise."""
    others = [arm for arm in result.arms[1:] if any(arm in row.compared for row in table)]
    if not others:
        yield _measured(result, table, quiet=quiet)
    for at, arm in enumerate(others):
        yield _compared(result, table, arm, () if at else (_effort(result),), quiet=quiet)


def _measured(result: BenchResult, table: Sequence[MetricRow], *, quiet: bool) -> ReportSection:
    decision = result.decision
    word = "MEASURED" if any(sample.valid for sample in result.samples) else "NOT MEASURED"
    if decision is not None and decision.verdict == "invalid":
        word = "NOT MEASURED"
    reasons = () if decision is None else decision.reasons[:_REASONS]
    return ReportSection(
        title=word,
        style=_STYLES[word],
        about=(", ".join((*_guests(result), f"profile {result.run.profile}")), _effort(result)),
        lead="" if decision is None else _meaning(decision, ()),
        tables=_lines_table(result, table, None),
        items=(*reasons, *(() if quiet else noise(result, table, result.arms))),
        verdict=True,
    )


def _compared(
    result: BenchResult,
    table: Sequence[MetricRow],
    arm: str,
    effort: tuple[str, ...],
    *,
    quiet: bool,
) -> ReportSection:
    compared = [row.compared[arm] for row in table if arm in row.compared]
    decision = _decision(result, compared)
    deciding = [each for each in compared if each.primary]
    word = _word(decision, deciding)
    subject = ": ".join((*_guests(result), change_words(result, arm)))
    undecided = decision.verdict in ("inconclusive", "not-worse")
    reasons = list(_other_reasons(result, decision))[:_REASONS]
    causes = () if quiet else noise(result, table, (result.arms[0], arm))
    return ReportSection(
        title=word,
        style=_STYLES[word],
        about=(subject, *effort),
        lead=_meaning(decision, deciding),
        tables=_lines_table(result, table, arm),
        items=(*reasons, *(outlook(result, table, arm) if undecided else ()), *causes),
        verdict=True,
    )


def _decision(result: BenchResult, compared: Sequence[Comparison]) -> Decision:
    """The decision of the measurement. With several arms there is none: then the one that follows
    from the comparisons with one of them."""
    if result.decision is not None and len(result.arms) == 2:
        return result.decision
    run = result.run
    terms = Terms(
        looks=run.looks or (1,), alphas=run.alphas or (0.05,), design=run.design,
        margins=run.margins, acts=False,
    )  # fmt: skip
    return decide(compared, terms)


def _word(decision: Decision, deciding: Sequence[Comparison]) -> str:
    done, is_open = decision.done, decision.verdict in _OPEN
    if done is None or (is_open and done != "not-rolled-back"):
        return word_of(decision.verdict, deciding).upper()
    return _DONE_WORDS[done]


def _meaning(decision: Decision, deciding: Sequence[Comparison]) -> str:
    said = MEANINGS[decision.verdict]
    if decision.verdict == "regressed" and not any(
        each.verdict == "regressed" and each.effect is not None for each in deciding
    ):
        said = "harm that needs no statistics"
    action = ACTIONS[decision.action] if decision.done is None else DONE[decision.done]
    return f"{said}; {action}" if action else said


def _other_reasons(result: BenchResult, decision: Decision) -> Iterator[str]:
    """Reasons other than comparisons, which the table shows, and guard rails that are unknown."""
    shown = tuple(f"{workload_and_metric(each)}:" for each in result.results)
    unknown = {rail_words(rail) for rail in result.guard_rails if rail.verdict == "unknown"}
    for reason in decision.reasons:
        if not reason.startswith(shown) and reason not in unknown:
            yield reason


def _guests(result: BenchResult) -> list[str]:
    found = list(dict.fromkeys(guest_of(path) for path in result.paths))
    return found if len(found) == 1 else []


def _effort(result: BenchResult) -> str:
    """``7 min 12 s, 28 runs, 3 of them repeated``."""
    slots = {(one.workload, one.arm, one.block) for one in result.samples}
    again = len(result.samples) - len(slots)
    seconds = seconds_between(result.run.started, result.run.finished)
    parts = [] if seconds is None or ".." in result.run.id else [duration(seconds)]
    parts.append(count(len(result.samples), "run"))
    repeated = f"{again:,} repeated" if again else "none repeated"
    return ", ".join([*parts, *([repeated] if result.samples else [])])


# Causes of noise.


_WAITS: tuple[tuple[str, Callable[[Covariates], float | None]], ...] = (
    ("the guest's vCPUs waited for a CPU", lambda one: one.vcpu_delay),
    ("others took CPU time of the target (steal)", lambda one: one.target_steal),
    ("others took CPU time of the peer (steal)", lambda one: one.peer_steal),
    ("a CPU quota throttled one end", lambda one: one.throttled),
)
_NOTICED = 2.0
"""Waits of at least this many per cent of a run are reported."""


def noise(result: BenchResult, table: Sequence[MetricRow], arms: Sequence[str]) -> Iterator[str]:
    """One sentence for each cause of noise, and one for the guard rails."""
    found = [
        (100 * summary.cv, row, arm)
        for row in table
        for arm in arms
        if row.primary and row.metric in METRICS and not is_share(METRICS[row.metric])
        and (summary := row.arms.get(arm)) is not None and summary.cv is not None
    ]  # fmt: skip
    widest, row, arm = max(found, key=lambda one: one[0], default=(0.0, None, ""))
    if row is not None and widest > margin_of(METRICS[row.metric], result.run.margins):
        yield f"runs of {row.workload.id} in {arm} differ by {percent(widest)} from one another"
    for words, of in _WAITS:
        shares = [share for one in result.samples if (share := of(one.covariates)) is not None]
        if shares and max(shares) > _NOTICED:
            usual, most = percent(median(shares)), percent(max(shares))
            yield f"{words} {usual} of the time, {most} in the worst run"
    if total := discarded_total(result):
        reasons = Counter(one.reason for one in result.samples if not one.valid and one.reason)
        often = [f", {number:,} of them: {why}" for why, number in reasons.most_common(1)]
        yield total + "".join(often)
    if result.guard_rails and all(rail.verdict == "ok" for rail in result.guard_rails):
        yield f"all guard rails hold ({len(result.guard_rails)})"


# How many runs would decide an open measurement. With several primary comparisons, each is planned
# for its share of the error probability (Bonferroni's, which is never above Holm's).


def outlook(result: BenchResult, table: Sequence[MetricRow], arm: str) -> Iterator[str]:
    """A sentence on the number of runs that would show the margin of the noisiest open row."""
    compared = [row.compared[arm] for row in table if arm in row.compared]
    alpha = MOST_ALPHA / max(1, sum(one.primary for one in compared))
    found = list(_undecided(result, table, arm))
    if not found:
        return
    margin, spread, runs, shown = max(found, key=lambda one: one[1] / one[0])
    unit = "turn" if result.run.design in TURNS else "run"
    needed = runs_to_show(margin, spread, alpha=alpha)
    if needed is None:
        yield f"more than {MOST_RUNS} {unit}s of each arm would be needed: reduce the noise"
    elif needed > runs:
        yield f"about {needed} {unit}s of each arm would show {shown}{_cost(result, needed)}"
    else:
        yield (
            f"{runs} {unit}s of each arm show {shown} in four out of five measurements: measure "
            "again"
        )


def _undecided(
    result: BenchResult, table: Sequence[MetricRow], arm: str
) -> Iterator[tuple[float, float, int, str]]:
    """Margin and spread of each open row, on its scale (logarithms, or points of a share), its
    number of runs, and the margin in words."""
    values = values_that_count(result)
    for row in table:
        compared, metric = row.compared.get(arm), METRICS.get(row.metric)
        is_open = compared is not None and compared.verdict in ("inconclusive", "not-worse")
        if compared is None or metric is None or not (compared.primary and is_open):
            continue
        share = is_share(metric)
        arms = [values.get((row.workload.id, row.metric, one), ()) for one in (result.arms[0], arm)]
        spread = spread_of(*arms, logarithms=not share)
        margin = margin_of(metric, result.run.margins)
        if spread is not None and spread > 0 and margin > 0:
            shown = f"{digits(margin)} points" if share else f"{margin:.0f} %"
            yield margin if share else math.log1p(margin / 100), spread, min(map(len, arms)), shown


def _cost(result: BenchResult, needed: int) -> str:
    """``: about 52 min (--repeats 34)``, from the time that the present runs took."""
    ordered = sorted(one.started for one in result.samples)
    slots = {(one.workload, one.arm, one.block) for one in result.samples}
    seconds = seconds_between(ordered[0], ordered[-1]) if len(slots) > 1 else None
    if not seconds:
        return ""
    whole = needed * len(result.arms) * len(result.workloads) * seconds / (len(slots) - 1)
    turns = result.run.design in TURNS
    minutes = max(1, round(whole * (result.run.runs_per_turn if turns else 1) / 60))
    return f": about {duration(60 * minutes)}" + ("" if turns else f" (--repeats {needed})")


# The lines of a verdict: each primary value before and after, and its change.


_MOST = 6
"""Lines that can be read in five seconds; the others are in the table below."""
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


def _lines_table(
    result: BenchResult, table: Sequence[MetricRow], arm: str | None
) -> tuple[Table, ...]:
    """The deciding values. ``arm``: the arm compared with the first; None: all arms, not
    compared."""
    arms = result.arms if arm is None else (result.arms[0], arm)
    deciding = [row for row in table if _decides(row, arm)]
    names = _names(deciding, "guest" if all(path.domain for path in result.paths) else "target")
    shown = sorted(range(len(deciding)), key=lambda at: _rank(deciding[at], arm))[:_MOST]
    found = [
        Row(cells)
        for at in sorted(shown)
        for cells in _lines(deciding[at], names[at], arms, arm, vcpus_of(result))
    ]
    if len(deciding) > len(shown):
        more = count(len(deciding) - len(shown), "more line")
        found.append(Row((f"… {more} in the table below", *[""] * (len(arms) + 2 * bool(arm)))))
    heads = ("estimates", *arms, "change (95 %)", "") if arm else ("medians", *arms)
    return (Table("", heads, tuple(found)),) if found else ()


def _decides(row: MetricRow, arm: str | None) -> bool:
    if arm is None:
        return row.primary or (row.workload.primary and row.metric in row.workload.decides)
    return arm in row.compared and row.compared[arm].primary


def _rank(row: MetricRow, arm: str | None) -> int:
    verdict = row.compared[arm].verdict if arm in row.compared else ""
    return _RANK.index(verdict) if verdict in _RANK else len(_RANK)


def _lines(
    row: MetricRow, name: str, arms: Sequence[str], arm: str | None, vcpus: int | None
) -> Iterator[tuple[Cell, ...]]:
    centres = [None if (one := row.arms.get(each)) is None else one.median for each in arms]
    effect = row.compared[arm].effect if arm in row.compared else None
    if effect is not None and effect.before is not None:
        centres = [effect.before, effect.after]  # so that one is the other multiplied by the change
    if arm is None:
        medians = [median_parts(row, each) for each in arms]
        yield (name, *(parts[: 2 if len(arms) == 1 else 1] for parts in medians))
    else:
        found = row.compared[arm]
        outcome = Part(verdict_words(found), style=STYLES[found.verdict], strong=True)
        changed = (Part(change_of(found)), Part(interval_of(found), "aside"))
        yield (name, *(_value(row, centre) for centre in centres), changed, (outcome,))
    if row.metric in _PER_VCPU and vcpus:
        each = [_value(row, None if one is None else one / vcpus) for one in centres]
        yield (f"  per vCPU (of {vcpus})", *each, *(("", "") if arm else ()))


def _value(row: MetricRow, value: float | None) -> str:
    return NOT_MEASURED if value is None else quantity(value, row.metric, row.unit)


def change_of(comparison: Comparison) -> str:
    """``59x``, ``+3.2 %``; positive is better. Large changes are written as a factor. Where nothing
    is judged, the difference of the medians."""
    if comparison.effect is not None:
        return _size(comparison, comparison.effect.percent)
    metric, sides = METRICS.get(comparison.metric), (comparison.before, comparison.after)
    medians = [side.median for side in sides if side is not None]
    if comparison.verdict != "not-judged" or metric is None or len(medians) < 2:
        return NOT_MEASURED
    found = difference(metric, *medians)
    return NOT_MEASURED if found is None else f"{_rounded(found)} {effect_unit(comparison.unit)}"


def interval_of(comparison: Comparison) -> str:
    """``(55x to 63x)``, ``(-1.0 to +7.5 %)``: the 95 % interval."""
    effect = comparison.effect
    if effect is None:
        return ""
    low, high = (_size(comparison, end) for end in (effect.low95, effect.high95))
    return f"({low.removesuffix(' %').removesuffix(' points')} to {high})"


def _size(comparison: Comparison, value: float) -> str:
    """A change: as a factor if the effect is one. Metrics for which lower is better are never
    written as factors, because a factor reads as an increase."""
    effect = comparison.effect
    if effect is None or comparison.better != "higher" or comparison.unit == "%" or (
        1 / _FACTOR < 1 + effect.percent / 100 < _FACTOR
    ):  # fmt: skip
        return f"{_rounded(value)} {effect_unit(comparison.unit)}"
    factor = 1 + value / 100
    places = 0 if factor >= 10 else 1 if factor >= 1 else 2
    return f"{factor:,.{places}f}x"


def _rounded(value: float) -> str:
    """``+3.2``, ``-27``: rounded to be read at a glance."""
    return f"{value:+,.0f}" if 10 <= abs(value) < 1e6 else change(value)


def _names(table: Sequence[MetricRow], end: str) -> list[str]:
    """Short names, each with enough detail to be unique; else the id of the workload."""
    workloads = {row.workload.id: row.workload for row in table}
    titles = {key: _title(one, end) for key, one in workloads.items()}
    for more in _DETAILS:
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


_DETAILS: tuple[Callable[[Workload], str], ...] = (
    lambda one: one.state and f", {one.state}",
    lambda one: f", {count(one.generators, 'generator')}",
    lambda one: f", {count(one.connections, 'connection')}",
    lambda one: "" if one.size is None else f", {size(one.size)}",
    lambda one: "" if one.rate is None else f", {quantity(one.rate, 'offered', '1/s')}",
)


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
