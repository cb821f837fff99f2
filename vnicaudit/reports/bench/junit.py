"""JUnit XML, for build servers: a test per workload and metric.

What regressed, and a guard rail that is broken, failed. What could not be judged is skipped and
says why. Metrics that nothing is decided on pass whatever they are. The decision is a test of its
own: a catastrophe stops a measurement before anything is compared, and must not look like a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lxml import etree

from vnicaudit.model.measurement import BenchResult, Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import Row, rows
from vnicaudit.reports.bench.words.labels import MEANINGS, decided, metric_words, verdict_words
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writer import Options

FORMAT = "junit"
SUMMARY = "JUnit XML, for build servers"

_ENDS = {
    "regressed": "failure", "inconclusive": "skipped", "generator-limited": "skipped",
    "invalid": "skipped", "failed": "failure", "unknown": "skipped",
}  # fmt: skip
"""Verdicts that are no pass."""


class _Case(NamedTuple):
    """One test: ``outcome`` None is a pass."""

    suite: str
    name: str
    outcome: str | None = None
    message: str = ""
    kind: str = ""


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The document, a suite at a time; no option changes what it says."""
    del options
    cases = [*_measured(result), *_guard_rails(result), *_decision(result)]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="vnicaudit bench">\n'
    for name in dict.fromkeys(case.suite for case in cases):
        yield _suite(name, result.run.profile, [case for case in cases if case.suite == name])
    yield "</testsuites>\n"


def _measured(result: BenchResult) -> Iterator[_Case]:
    for row in rows(result):
        suite, metric = row.workload.id, metric_words(row.metric)
        for arm, comparison in row.compared.items():
            name = metric if len(result.arms) == 2 else f"{metric}, {arm}"
            outcome = _ENDS.get(comparison.verdict) if comparison.primary else None
            yield _Case(suite, name, outcome, _said(row, comparison), comparison.verdict)
        if not row.compared:
            yield _Case(suite, metric)
    measured = {sample.workload for sample in result.samples if sample.valid and sample.values}
    for workload in result.workloads:
        if workload.id not in measured:
            yield _Case(workload.id, "measured", "skipped", "no run counts", "invalid")


def _said(row: Row, comparison: Comparison) -> str:
    """``regressed: 7.81 Gb/s [7.75, 7.86] before, 7.12 Gb/s [7.05, 7.2] after: -8.8 % [-9.9,
    -7.6]; two bands``."""
    sides = [
        f"{_joined(cells.measured(row, arm))} {arm}"
        for arm in (comparison.before_arm, comparison.after_arm)
    ]
    change = _joined(cells.effect(comparison))
    notes = "".join(f"; {note}" for note in comparison.notes)
    meaning = f"{verdict_words(comparison.verdict)} ({MEANINGS[comparison.verdict]})"
    return f"{meaning}: {', '.join(sides)}: {change}{notes}"


def _joined(cell: cells.Cell) -> str:
    return " ".join(part.plain for part in cell if part.plain)


def _guard_rails(result: BenchResult) -> Iterator[_Case]:
    for rail in result.guard_rails:
        name = f"{rail.name}, {rail.arm}" if rail.arm else rail.name
        yield _Case("guard rails", name, _ENDS.get(rail.verdict), rail.detail, rail.verdict)


def _decision(result: BenchResult) -> Iterator[_Case]:
    decision = result.decision
    if decision is None:
        yield _Case("decision", "nothing was to be decided")
        return
    outcome = _ENDS.get(decision.verdict)
    if decision.action == "roll-back" or decision.done in ("rolled-back", "not-rolled-back"):
        outcome = "failure"
    message = "; ".join((decided(decision), *decision.reasons))
    yield _Case("decision", "decision", outcome, message, decision.verdict)


def _suite(name: str, profile: str, cases: Iterable[_Case]) -> str:
    cases = list(cases)
    ends = [case.outcome for case in cases]
    suite = etree.Element(
        "testsuite",
        name=safe(name),
        package=safe(profile),
        tests=str(len(ends)),
        failures=str(ends.count("failure")),
        errors="0",
        skipped=str(ends.count("skipped")),
    )
    for case in cases:
        test = etree.SubElement(suite, "testcase", name=safe(case.name), classname=safe(name))
        if case.outcome is not None:
            end = etree.SubElement(test, case.outcome, message=safe(case.message))
            end.set("type", case.kind)
    return etree.tostring(suite, encoding="unicode", pretty_print=True)
