"""The verdict for a tired operator, as values: the word, the subject, before and after, the
reasons, and what to do next. Text, Markdown and HTML write the same blocks.

How to decide an open measurement, and how long that takes.

With several primary comparisons, each is planned for its share of the error probability
(Bonferroni's, which is never above Holm's).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.deadlines import seconds_between
from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import TURNS, is_share, margin_of
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.judging.terms import (
    MOST_ALPHA,
    MOST_RUNS,
    Terms,
    runs_to_show,
    shown_by,
    spread_of,
)
from vnicaudit.bench.judging.verdict import decide, may_be_chance, rail_words, workload_and_metric
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Comparison, Covariates, Decision, Verdict
from vnicaudit.reports.bench.tables.rows import MetricRow, discarded_total, values_that_count
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine, verdict_lines
from vnicaudit.reports.bench.words.labels import (
    DONE,
    MEANINGS,
    change_words,
    digits,
    duration,
    guest_of,
    percent,
    word_of,
)
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, safe
from vnicaudit.reports.table.model import Cell, Grid, Part, TableLine, piece_of

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


_DONE_WORDS = {
    "kept": "KEPT",
    "rolled-back": "ROLLED BACK",
    "not-rolled-back": "NOT ROLLED BACK",
}
_OPEN: frozenset[Verdict] = frozenset({"inconclusive", "generator-limited", "invalid"})
"""Verdicts shown by their own word, even after the change was kept or rolled back."""
_STYLES = {
    "KEPT": "good", "BETTER": "good", "ROLLED BACK": "bad", "WORSE": "bad", (
        "NOT ROLLED BACK"
    ): "bad",
    "UNDECIDED": "medium", "NOT MEASURED": "medium", "TOO FEW RUNS": "medium",
    "NO DIFFERENCE": "fix", "NOT WORSE": "fix", "MEASURED": "name", "NOT JUDGED": "name",
}  # fmt: skip
_REASONS = 3


class VerdictBlock(NamedTuple):
    """``word``: the verdict in capitals, with its ``style``. ``subject``: the guest, and the
    change. ``effort``: duration and number of runs; empty if shown elsewhere. ``meaning``:
    explanation of the word, and what was done. ``arms``: column heads of ``lines``. ``reasons``:
    reasons that no line shows. ``remarks``: causes of noise. ``next``: how to decide it."""

    word: str
    style: str
    subject: str
    effort: str
    meaning: str
    arms: tuple[str, ...]
    lines: tuple[VerdictLine, ...]
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    next: tuple[str, ...]


def verdict_blocks(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[VerdictBlock]:
    """One block for each arm compared with the first; a single block if nothing is compared."""
    others = [arm for arm in result.arms[1:] if any(arm in row.compared for row in table)]
    if not others:
        yield _measured(result, table)
    for at, arm in enumerate(others):
        yield _compared(result, table, arm, effort="" if at else _effort(result))


def _measured(result: BenchResult, table: Sequence[MetricRow]) -> VerdictBlock:
    decision = result.decision
    word = "MEASURED" if any(sample.valid for sample in result.samples) else "NOT MEASURED"
    if decision is not None and decision.verdict == "invalid":
        word = "NOT MEASURED"
    return VerdictBlock(
        word=word,
        style=_STYLES[word],
        subject=", ".join((*_guests(result), f"profile {result.run.profile}")),
        effort=_effort(result),
        meaning="" if decision is None else _meaning(decision, ()),
        arms=result.arms,
        lines=verdict_lines(result, table, None),
        reasons=() if decision is None else decision.reasons[:_REASONS],
        remarks=tuple(noise(result, table, result.arms)),
        next=(),
    )


def _compared(
    result: BenchResult, table: Sequence[MetricRow], arm: str, *, effort: str
) -> VerdictBlock:
    compared = [row.compared[arm] for row in table if arm in row.compared]
    decision = _decision(result, compared)
    deciding = [each for each in compared if each.primary]
    word = _word(decision, deciding)
    arms = (result.arms[0], arm)
    undecided = decision.verdict in ("inconclusive", "not-worse")
    who = ", ".join(_guests(result))
    return VerdictBlock(
        word=word,
        style=_STYLES[word],
        subject=f"{who}: {change_words(result, arm)}" if who else change_words(result, arm),
        effort=effort,
        meaning=_meaning(decision, deciding),
        arms=arms,
        lines=verdict_lines(result, table, arm),
        reasons=tuple(_other_reasons(decision, result.results)),
        remarks=tuple(noise(result, table, arms)),
        next=tuple(outlook(result, table, arm)) if undecided else (),
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
    if decision.done == "not-rolled-back":
        return _DONE_WORDS[decision.done]
    if decision.done is None or decision.verdict in _OPEN:
        return word_of(decision.verdict, deciding).upper()
    return _DONE_WORDS[decision.done]


def _meaning(decision: Decision, deciding: Sequence[Comparison]) -> str:
    said = MEANINGS[decision.verdict]
    if decision.verdict == "regressed" and not any(
        each.verdict == "regressed" and each.effect is not None for each in deciding
    ):
        said = "harm that needs no statistics"
    return said if decision.done is None else f"{said}; {DONE[decision.done]}"


def _other_reasons(decision: Decision, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Reasons other than comparisons, which are shown in the lines."""
    if decision.verdict not in ("regressed", "invalid"):
        return
    shown = tuple(f"{workload_and_metric(each)}:" for each in comparisons)
    reasons = [each for each in decision.reasons if not each.startswith(shown)]
    yield from reasons[:_REASONS]


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


# The verdict for a terminal.


_INDENT = 2
_BETWEEN_WORDS = re.compile(r" (?!%)")


def verdict_text(blocks: Sequence[VerdictBlock], options: Options) -> Iterator[str]:
    """Each block: the verdict and its subject, its lines, the reasons, and what to do next.
    ``quiet`` leaves out the remarks."""
    paint = Paint(color=options.color)
    for block in blocks:
        yield _head(block, options, paint)
        if block.meaning:
            yield _wrapped(block.meaning, options)
        yield from _lines(block, options, paint)
        remarks = () if options.quiet else block.remarks
        yield from (_wrapped(text, options) for text in (*block.reasons, *block.next, *remarks))
        yield "\n"


def _head(block: VerdictBlock, options: Options, paint: Paint) -> str:
    subject, effort = safe(block.subject), safe(block.effort)
    pieces = [
        Piece(block.word, paint(block.style, block.word)),
        Piece(subject, paint("name", subject)),
        *([Piece(effort, effort)] if effort else []),
    ]
    return fold(pieces, options.width, "", "  ", "  ")


def _wrapped(text: str, options: Options) -> str:
    """Wrap a sentence, keeping numbers together with their per cent sign."""
    words = [Piece(word, word) for word in _BETWEEN_WORDS.split(safe(text))]
    return fold(words, options.width, "  ", "    ", " ")


def _lines(block: VerdictBlock, options: Options, paint: Paint) -> Iterator[str]:
    if not block.lines:
        return
    compared = any(line.outcome for line in block.lines)
    heads: list[Cell] = [(Part("estimates" if compared else "medians", style="quiet"),)]
    heads += [(Part(arm, style="name"),) for arm in block.arms]
    heads += [(Part("change (95 %)", style="quiet"),), ""] if compared else []
    rows = [TableLine(tuple(heads)), *(TableLine(tuple(_cells(line))) for line in block.lines)]
    grid = Grid(rows, options.width, paint, indent=_INDENT, left=1 if compared else 0)
    if grid.fits:
        yield from grid.text()
        return
    for line in block.lines:
        pieces = [piece_of(part, paint) for part in _sentence(line, block.arms)]
        yield fold(pieces, options.width, "  ", "    ", "  ")


def _cells(line: VerdictLine) -> Iterator[Cell]:
    yield f"  {line.name}" if line.part else line.name
    for at, value in enumerate(line.values):
        aside = line.interval if not line.outcome and at == 0 else ""
        yield (Part(value), Part(aside, "aside"))
    if line.outcome:
        yield (Part(line.change), Part(line.interval, "aside"))
        yield (Part(line.outcome, style=line.style, strong=True),)


def _sentence(line: VerdictLine, arms: Sequence[str]) -> Iterator[Part]:
    *first, last = line.name.split(", ")
    yield from (Part(f"{part},", style="name") for part in first)
    yield Part(last, style="name")
    for arm, value in zip(arms, line.values, strict=False):
        yield Part(f"{arm} {value}")
    if line.outcome:
        yield Part(f"{line.change} {line.interval}".rstrip())
        yield Part(line.outcome, style=line.style)
