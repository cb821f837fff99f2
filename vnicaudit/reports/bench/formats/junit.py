"""JUnit XML, for build servers: one test per workload and metric.

Regressions and broken guard rails are failures. Results that could not be judged are skipped, with
the reason. Metrics that are not used for the decision always pass. The decision has its own test,
because a catastrophe stops a measurement before anything is compared, and must not look like a
pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import MetricRow, rows
from vnicaudit.reports.bench.words.guest_names import with_guest_names
from vnicaudit.reports.bench.words.labels import (
    decision_words,
    metric_words,
    verdict_words,
)
from vnicaudit.reports.junit import END, JUnitCase, Outcome, begin, suite_text
from vnicaudit.reports.table.model import cell_text
from vnicaudit.reports.writer import Options

FORMAT = "junit"
SUMMARY = "JUnit XML, for build servers"

_ENDS: dict[str, Outcome] = {
    "regressed": "failure", "inconclusive": "skipped", "generator-limited": "skipped",
    "invalid": "skipped", "failed": "failure", "unknown": "skipped",
}  # fmt: skip
"""Verdicts that are not a pass."""


_Suited = tuple[str, JUnitCase]
"""A suite, and a test in it."""


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The document, one suite at a time. Options have no effect."""
    del options
    suites: dict[str, list[JUnitCase]] = {}
    result = with_guest_names(result)
    for name, case in (*_measured(result), *_guard_rails(result), *_decision(result)):
        suites.setdefault(name, []).append(case)
    yield begin("vnicaudit bench")
    for name, cases in suites.items():
        yield suite_text(name, result.run.profile, cases)
    yield END


def _measured(result: BenchResult) -> Iterator[_Suited]:
    for row in rows(result):
        suite, metric = row.workload.id, metric_words(row.metric)
        for arm, comparison in row.compared.items():
            name = metric if len(result.arms) == 2 else f"{metric}, {arm}"
            outcome = _ENDS.get(comparison.verdict) if comparison.primary else None
            said = _comparison_words(row, comparison)
            yield suite, JUnitCase(name, outcome, said, comparison.verdict)
        if not row.compared:
            yield suite, JUnitCase(metric)
    measured = {sample.workload for sample in result.samples if sample.valid and sample.values}
    for workload in result.workloads:
        if workload.id not in measured:
            yield workload.id, JUnitCase("measured", "skipped", "no run counts", "invalid")


def _comparison_words(row: MetricRow, comparison: Comparison) -> str:
    """``worse: 7.81 Gb/s [7.75, 7.86] before, 7.12 Gb/s [7.05, 7.2] after: -8.8 % [-9.9,
    -7.6]; two bands``."""
    sides = [
        f"{cell_text(cells.median_parts(row, arm))} {arm}"
        for arm in (comparison.before_arm, comparison.after_arm)
    ]
    change = cell_text(cells.effect(comparison))
    notes = "".join(f"; {note}" for note in comparison.notes)
    meaning = verdict_words(comparison)
    return f"{meaning}: {', '.join(sides)}: {change}{notes}"


def _guard_rails(result: BenchResult) -> Iterator[_Suited]:
    for rail in result.guard_rails:
        name = f"{rail.name}, {rail.arm}" if rail.arm else rail.name
        yield "guard rails", JUnitCase(name, _ENDS.get(rail.verdict), rail.detail, rail.verdict)


def _decision(result: BenchResult) -> Iterator[_Suited]:
    decision = result.decision
    if decision is None:
        yield "decision", JUnitCase("nothing was to be decided")
        return
    outcome = _ENDS.get(decision.verdict)
    if decision.action == "roll-back" or decision.done in ("rolled-back", "not-rolled-back"):
        outcome = "failure"
    message = "; ".join(("".join(decision_words(result, decision)), *decision.reasons))
    yield "decision", JUnitCase("decision", outcome, message, decision.verdict)
