"""One HTML page: the decision, tables, charts, and how it was measured.

It needs nothing but itself: no script, no font, no address. The template is in
``templates/bench/``; charts need matplotlib (``vnicaudit[charts]``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import islice
from string import Template

from vnicaudit.model.measurement import BenchResult, Setup
from vnicaudit.reports.bench.tables.counted import discarded, discarded_total
from vnicaudit.reports.bench.tables.dimensions import matrices
from vnicaudit.reports.bench.tables.drops import drops
from vnicaudit.reports.bench.tables.rows import Row, rows
from vnicaudit.reports.bench.tables.summary import drop_words, facts, guard_total
from vnicaudit.reports.bench.tables.table_html import (
    matrix_table,
    measured_table,
    plain_table,
    text,
)
from vnicaudit.reports.bench.words.labels import MEANINGS, STYLES, decided
from vnicaudit.reports.writer import Options

FORMAT = "html"
SUMMARY = "one HTML page with charts, that needs no other file"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The page; no option changes what it says. Raises MissingExtraError without matplotlib."""
    del options
    page = files("vnicaudit") / "templates" / "bench" / "report.html"
    title = text(f"vnicaudit bench: {result.run.profile}, {result.run.id}")
    body = "".join(_body(result))
    yield Template(page.read_text(encoding="utf-8")).substitute(title=title, body=body)


def _body(result: BenchResult) -> Iterator[str]:
    table = list(rows(result))
    yield f"<header>\n<h1>vnicaudit bench: {text(result.run.profile)}</h1>\n"
    yield from _decision(result)
    yield from (f"<p>{text(said)}</p>\n" for _, said in islice(facts(result, table), 2))
    yield "</header>\n<main>\n"
    yield from _tables(result, table)
    yield from _charts(result)
    yield from _guard_rails(result)
    yield from _listed(discarded_total(result), list(discarded(result)))
    yield "<h2>How it was measured</h2>\n"
    yield from _described(facts(result, table))
    for setup in result.environment:
        yield from _environment(setup)
    yield f"</main>\n<footer>{text(f'{result.run.tool} {result.run.version}, {result.run.id}')}"
    yield "</footer>"


def _decision(result: BenchResult) -> Iterator[str]:
    decision = result.decision
    if decision is None:
        return
    meaning = MEANINGS[decision.verdict]
    yield f'<div class="decision {STYLES[decision.verdict]}">\n'
    yield f"<p>{text(decided(decision))} ({text(meaning)})</p>\n<ul>"
    yield "".join(f"<li>{text(reason)}</li>" for reason in decision.reasons)
    yield "</ul>\n</div>\n"


def _tables(result: BenchResult, table: Sequence[Row]) -> Iterator[str]:
    yield "<h2>What was measured</h2>\n"
    for matrix in matrices([result]):
        yield from matrix_table(matrix)
    if table:
        yield from measured_table(result, table)
    if result.run.design == "paths":
        found = [drop_words(drop) for drop in drops(table, result)]
        yield from _listed("Where it drops, by medians", found or ["nowhere beyond the margin"])


def _charts(result: BenchResult) -> Iterator[str]:
    from vnicaudit.reports.bench.charts.draw import charts
    from vnicaudit.reports.bench.charts.inline import inline

    found = charts(result)
    if found:
        yield "<h2>Charts</h2>\n"
    for number, chart in enumerate(found, 1):
        yield f"<figure>{inline(chart, number)}</figure>\n"


def _guard_rails(result: BenchResult) -> Iterator[str]:
    if result.guard_rails:
        yield "<h2>Guard rails</h2>\n"
        lines = [(rail.name, rail.arm, rail.verdict, rail.detail) for rail in result.guard_rails]
        heads = ("what must hold", "arm", "verdict", "detail")
        yield from plain_table(guard_total(result.guard_rails), heads, lines)


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if title:
        yield f"<h2>{text(title[:1].upper() + title[1:])}</h2>\n<ul>"
        yield "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>\n"


def _described(pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    yield "<dl>\n"
    for name, value in pairs:
        yield f"<dt>{text(name)}</dt><dd>{text(value)}</dd>\n"
    yield "</dl>\n"


def _environment(setup: Setup) -> Iterator[str]:
    unknown = ((name, f"unknown: {why}") for name, why in setup.unknown.items())
    lines = [*setup.facts.items(), *unknown]
    if lines:
        yield f"<h2>Found at {text(setup.endpoint)}</h2>\n"
        yield from plain_table(f"At {setup.endpoint}", ("what", "found"), lines)
