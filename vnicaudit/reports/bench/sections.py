"""The one model of a report for people: sections, in order. Text, Markdown and HTML render them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from vnicaudit.model.measurement import BenchResult, Setup
from vnicaudit.reports.bench.labels import with_guest_names
from vnicaudit.reports.bench.matrix import matrices, matrix_table
from vnicaudit.reports.bench.rows import (
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
from vnicaudit.reports.bench.tables import measured_table
from vnicaudit.reports.bench.verdict import verdicts
from vnicaudit.reports.safe import hidden
from vnicaudit.reports.table.model import Table
from vnicaudit.reports.writers import Options

_MOST_REASONS = 20


class ReportSection(msgspec.Struct, frozen=True, kw_only=True):
    """``title`` in a ``style`` of :mod:`vnicaudit.reports.safe`, words ``about`` it, and a sentence
    below (``lead``); then tables, sentences (``items``) and facts (``pairs``). ``verdict``: it
    comes first, and is seen first; ``aside``: few readers need it."""

    title: str
    style: str = "name"
    about: tuple[str, ...] = ()
    lead: str = ""
    tables: tuple[Table, ...] = ()
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    verdict: bool = False
    aside: bool = False


def sections(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    """The report. ``quiet``: the verdict, the tables, and guard rails that do not hold;
    ``verbose``: also each guard rail, every reason, and facts about the endpoints."""
    result = with_guest_names(result)
    table = list(rows(result))
    for found in verdicts(result, table):
        items = (*found.reasons, *found.next, *(() if options.quiet else found.remarks))
        yield ReportSection(
            title=found.word, style=found.style, about=found.about, lead=found.meaning,
            tables=found.tables, items=items, verdict=True,
        )  # fmt: skip
    yield from _measured(result, table)
    yield from _guard_rails(result, options)
    if not options.quiet:
        yield from _discarded(result, options)
        yield ReportSection(
            title="How it was measured", about=(result.run.id, f"profile {result.run.profile}"),
            pairs=tuple(facts(result, table)), aside=True,
        )  # fmt: skip
        yield from map(_environment, result.environment if options.verbose else ())


def _measured(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[ReportSection]:
    tables = [matrix_table(matrix) for matrix in matrices([result])]
    tables += [measured_table(table, result.arms)] if table else []
    if tables:
        yield ReportSection(title="What was measured", tables=tuple(tables))
    if result.run.design == "paths":
        found = tuple(drop_words(drop) for drop in drops(table, result))
        none = ("nowhere by more than the margin",)
        yield ReportSection(title="Where it drops, by medians", items=found or none)


def _guard_rails(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    rails = result.guard_rails
    wanted = [rail for rail in rails if options.verbose or rail.verdict != "ok"]
    if rails and (wanted or not options.quiet):
        items = tuple(f"{rail.verdict}: {rail_words(rail)}" for rail in wanted)
        yield ReportSection(title=guard_total(rails), items=items)


def _discarded(result: BenchResult, options: Options) -> Iterator[ReportSection]:
    total = discarded_total(result)
    reasons = list(discard_sentences(result))
    shown = reasons if options.verbose else reasons[:_MOST_REASONS]
    if len(shown) < len(reasons):
        shown.append(hidden(len(reasons) - len(shown), "reasons"))
    if total:
        yield ReportSection(title=total, items=tuple(shown))


def _environment(setup: Setup) -> ReportSection:
    unknown = ((name, f"unknown: {why}") for name, why in setup.unknown.items())
    pairs = (*setup.facts.items(), *unknown)
    return ReportSection(title=f"Found at {setup.endpoint}", pairs=pairs, aside=True)
