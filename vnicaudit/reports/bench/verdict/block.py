"""The verdict for a tired operator, as values: the word, the subject, before and after, the
reasons, and what to do next. Text, Markdown and HTML write the same blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.clock import seconds_between
from vnicaudit.base.wording import count
from vnicaudit.bench.judging.reasons import workload_and_metric
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.model.measurement import BenchResult, Comparison, Decision, Verdict
from vnicaudit.reports.bench.tables.rows import MetricRow
from vnicaudit.reports.bench.verdict.noise import noise
from vnicaudit.reports.bench.verdict.outlook import outlook
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine, verdict_lines
from vnicaudit.reports.bench.words.labels import DONE, MEANINGS, word_of
from vnicaudit.reports.bench.words.measured_guest import change_words, guest_of
from vnicaudit.reports.bench.words.quantity import duration

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
