"""For people: how it was measured, a table, what does not count, and what it all means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult, GuardRail
from vnicaudit.reports.bench.tables.counted import discarded, discarded_total
from vnicaudit.reports.bench.tables.dimensions import matrices
from vnicaudit.reports.bench.tables.drops import drops
from vnicaudit.reports.bench.tables.matrix_text import matrix_lines
from vnicaudit.reports.bench.tables.rows import Row, rows
from vnicaudit.reports.bench.tables.summary import drop_words, facts, guard_total, rail_words
from vnicaudit.reports.bench.tables.table_text import TableText
from vnicaudit.reports.bench.words.labels import MEANINGS, STYLES, decided, verdict_words
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import Piece, fold, wrap
from vnicaudit.reports.writer import Options

FORMAT = "text"
SUMMARY = "for people: a table, what does not count, the decision"

_SHOWN = 20
_LABEL = 8


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The report in pieces that end with a line break. ``quiet``: the tables, what is broken, and
    the decision; ``verbose``: each guard rail, and what was found at the endpoints."""
    text = _Text(result, options)
    if not options.quiet:
        yield from text.head()
    yield from text.tables()
    if not options.quiet:
        yield from text.discarded()
    yield from text.guard_rails()
    yield from text.decision()


def tables(results: Sequence[BenchResult], options: Options) -> Iterator[str]:
    """Several measurements as one table by vCPUs, server option and number of generators; nothing
    where they do not differ in these."""
    paint = Paint(color=options.color)
    for matrix in matrices(results):
        yield from matrix_lines(matrix, options, paint)
        yield "\n"


class _Text:
    def __init__(self, result: BenchResult, options: Options) -> None:
        self._result = result
        self._options = options
        self._width = options.width
        self._paint = Paint(color=options.color)
        self._table: list[Row] = list(rows(result))

    def head(self) -> Iterator[str]:
        """Which measurement, and how it was made."""
        run = self._result.run
        name = safe(run.id)
        about = Piece(f"profile {safe(run.profile)}", f"profile {safe(run.profile)}")
        yield fold([Piece(name, self._paint("name", name)), about], self._width, "", "  ", "  ")
        for label, value in facts(self._result, self._table):
            yield self._said(label, value)
        if self._options.verbose:
            yield from self._environment()
        yield "\n"

    def tables(self) -> Iterator[str]:
        """The dimensions, if there are any, all rows, and where a value drops from path to path."""
        yield from tables([self._result], self._options)
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
        yield self._paint("name", total[:1].upper() + total[1:]) + "\n"
        reasons = list(discarded(self._result))
        shown = reasons if self._options.verbose else reasons[:_SHOWN]
        for reason in shown:
            yield wrap(safe(reason), self._width, "  ", "    ")
        if len(shown) < len(reasons):
            more = f"… {len(reasons) - len(shown):,} more reasons (--verbose shows them)"
            yield wrap(more, self._width, "  ", "    ")
        yield "\n"

    def guard_rails(self) -> Iterator[str]:
        """How many there are, and those that do not hold or could not be looked at."""
        rails = self._result.guard_rails
        wanted = [rail for rail in rails if self._options.verbose or rail.verdict != "ok"]
        if not rails or (self._options.quiet and not wanted):
            return
        yield wrap(guard_total(rails), self._width, "", "  ")
        for rail in wanted:
            yield self._rail(rail)
        yield "\n"

    def decision(self) -> Iterator[str]:
        """The last lines: the verdict, what is to be done, why."""
        decision = self._result.decision
        if decision is None:
            return
        word = verdict_words(decision.verdict)
        line = wrap(f"{decided(decision)} ({MEANINGS[decision.verdict]})", self._width, "", "  ")
        yield line.replace(word, self._paint(STYLES[decision.verdict], word), 1)
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

    def _said(self, label: str, value: str) -> str:
        room = " " * (_LABEL - len(label))
        return wrap(safe(value), self._width, f"  {safe(label)}{room}  ", " " * (_LABEL + 4))

    def _rail(self, rail: GuardRail) -> str:
        line = wrap(f"{rail.verdict:7}  {safe(rail_words(rail))}", self._width, "  ", " " * 11)
        return line.replace(rail.verdict, self._paint(STYLES[rail.verdict], rail.verdict), 1)
