"""Text for people: the verdict, then how it was measured, a table, runs that do not count, and
why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vnicaudit.model.measurement import BenchResult, GuardRail
from vnicaudit.reports.bench.tables.rows import (
    MetricRow,
    discard_sentences,
    discarded_total,
    drop_words,
    drops,
    facts,
    guard_total,
    rail_words,
    rows,
)
from vnicaudit.reports.bench.tables.table_text import (
    Matrix,
    TableText,
    all_matrices,
    matrices,
    matrix_lines,
)
from vnicaudit.reports.bench.verdict.block import verdict_blocks, verdict_text
from vnicaudit.reports.bench.words.labels import STYLES, decision_words, with_guest_names
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, hidden, safe, with_lead, wrap
from vnicaudit.reports.table.model import Part, padded_cell

FORMAT = "text"
SUMMARY = "for people: a table, what does not count, the decision"

_SHOWN = 20
_VERDICT = 7
"""Width of the longest verdict of a guard rail."""
_LABEL = 8


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The report in pieces that end with a line break. ``quiet``: only the verdict, the tables,
    problems, and the decision. ``verbose``: also each guard rail, and facts about the endpoints."""
    text = _BenchText(with_guest_names(result), options)
    yield from text.verdict()
    if not options.quiet:
        yield from text.head()
    yield from text.tables()
    if not options.quiet:
        yield from text.discarded()
    yield from text.guard_rails()
    yield from text.decision()


def tables(results: Sequence[BenchResult], options: Options) -> Iterator[str]:
    """Several measurements as tables, one for each kind of work, by NIC, vCPUs, server option and
    number of generators."""
    yield from _matrices(all_matrices(results), options)


def _matrices(found: Iterable[Matrix], options: Options) -> Iterator[str]:
    paint = Paint(color=options.color)
    for matrix in found:
        yield from matrix_lines(matrix, options, paint)
        yield "\n"


class _BenchText:
    def __init__(self, result: BenchResult, options: Options) -> None:
        self._result = result
        self._options = options
        self._width = options.width
        self._paint = Paint(color=options.color)
        self._table: list[MetricRow] = list(rows(result))

    def verdict(self) -> Iterator[str]:
        """The verdict, to be read in five seconds."""
        blocks = list(verdict_blocks(self._result, self._table))
        yield from verdict_text(blocks, self._options)

    def head(self) -> Iterator[str]:
        """The id of the measurement, and how it was made."""
        run = self._result.run
        name = safe(run.id)
        about = Piece(f"profile {safe(run.profile)}", f"profile {safe(run.profile)}")
        yield fold([Piece(name, self._paint("name", name)), about], self._width, "", "  ", "  ")
        for label, value in facts(self._result, self._table):
            yield self._labelled(label, value)
        if self._options.verbose:
            yield from self._environment()
        yield "\n"

    def tables(self) -> Iterator[str]:
        """The dimensions, if there are any, all rows, and between which paths a value drops."""
        yield from _matrices(matrices([self._result]), self._options)
        yield from TableText(self._result, self._table, self._options).lines()
        if self._table:
            yield "\n"
        if self._result.run.design == "paths":
            yield from self._drops()

    def discarded(self) -> Iterator[str]:
        """Runs that do not count, and why."""
        total = discarded_total(self._result)
        if not total:
            return
        yield self._paint("name", total) + "\n"
        reasons = list(discard_sentences(self._result))
        shown = reasons if self._options.verbose else reasons[:_SHOWN]
        for reason in shown:
            yield wrap(safe(reason), self._width, "  ", "    ")
        if len(shown) < len(reasons):
            yield wrap(hidden(len(reasons) - len(shown), "reasons"), self._width, "  ", "    ")
        yield "\n"

    def guard_rails(self) -> Iterator[str]:
        """The number of guard rails, and those that are broken or could not be checked."""
        rails = self._result.guard_rails
        wanted = [rail for rail in rails if self._options.verbose or rail.verdict != "ok"]
        if not rails or (self._options.quiet and not wanted):
            return
        yield wrap(guard_total(rails), self._width, "", "  ")
        for rail in wanted:
            yield self._rail(rail)
        yield "\n"

    def decision(self) -> Iterator[str]:
        """The last lines: the verdict, what to do, and why."""
        decision = self._result.decision
        if decision is None:
            return
        word, action = decision_words(self._result, decision)
        verdict = Piece(word, self._paint(STYLES[decision.verdict], word))
        yield with_lead(verdict, action, self._width, "", "  ")
        for reason in decision.reasons:
            yield wrap(safe(reason), self._width, "  ", "    ")

    def _drops(self) -> Iterator[str]:
        found = list(drops(self._table, self._result))
        yield self._paint("name", "Where it drops, by medians") + "\n"
        for drop in found:
            yield wrap(safe(drop_words(drop)), self._width, "  ", "    ")
        if not found:
            yield wrap("nowhere by more than the margin", self._width, "  ", "    ")
        yield "\n"

    def _environment(self) -> Iterator[str]:
        for setup in self._result.environment:
            yield "  " + self._paint("quiet", safe(setup.endpoint)) + "\n"
            for name, value in setup.facts.items():
                yield wrap(safe(f"{name}: {value}"), self._width, "    ", "      ")
            for name, why in setup.unknown.items():
                yield wrap(safe(f"{name}: unknown: {why}"), self._width, "    ", "      ")

    def _labelled(self, label: str, value: str) -> str:
        room = " " * (_LABEL - len(label))
        return wrap(safe(value), self._width, f"  {safe(label)}{room}  ", " " * (_LABEL + 4))

    def _rail(self, rail: GuardRail) -> str:
        verdict = padded_cell(Part(rail.verdict, style=STYLES[rail.verdict]), _VERDICT, self._paint)
        return with_lead(
            verdict, f"  {safe(rail_words(rail))}", self._width, "  ", " " * (_VERDICT + 4)
        )
