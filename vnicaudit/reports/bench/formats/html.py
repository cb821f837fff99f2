"""One HTML page: the verdict, tables, charts, and how it was measured.

It is self-contained: no script, no font, no external address. It follows the system's dark mode,
and on a narrow page each row of its main table becomes a list. Colours and policy are shared by all
pages (:mod:`vnicaudit.reports.coverage`); its style is in ``templates/bench/``; charts need
matplotlib (``vnicaudit[charts]``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from vnicaudit.model.measurement import BenchResult, Setup
from vnicaudit.reports.bench.tables.rows import (
    MetricRow,
    discard_sentences,
    discarded_total,
    drop_words,
    drops,
    facts,
    guard_total,
    rows,
)
from vnicaudit.reports.bench.tables.table_text import matrices, matrix_table, measured_table
from vnicaudit.reports.bench.verdict.block import VerdictBlock, verdict_blocks
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine
from vnicaudit.reports.bench.words.labels import STYLES, decision_words, with_guest_names
from vnicaudit.reports.coverage import head, stylesheet
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table import model
from vnicaudit.reports.table.html import table_text, text
from vnicaudit.reports.table.model import Table

FORMAT = "html"
SUMMARY = "one HTML page with charts, that needs no other file"

_CAPTION = (
    "Medians; [a, b]: 95 % interval; (a to b): all runs, too few for an interval; effects: "
    "estimated from all runs, plus is better"
)


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The page. Options have no effect. Raises MissingExtraError without matplotlib."""
    del options
    title = safe(f"vnicaudit bench: {result.run.profile}, {result.run.id}")
    yield f"{head(title, stylesheet('bench/report.css'))}<body>\n"
    yield from _body(with_guest_names(result))
    yield "\n</body>\n</html>\n"


def _body(result: BenchResult) -> Iterator[str]:
    table = list(rows(result))
    yield "<header>\n"
    for number, block in enumerate(verdict_blocks(result, table)):
        yield from _verdict(block, "h2" if number else "h1")
    yield "</header>\n<main>\n"
    yield from _decision(result)
    yield from (f"<p>{text(said)}</p>\n" for _, said in islice(facts(result, table), 2))
    yield from _tables(result, table)
    yield from _charts(result)
    yield from _guard_rails(result)
    yield from _listed(discarded_total(result), list(discard_sentences(result)))
    yield "<h2>How it was measured</h2>\n"
    yield from _described(facts(result, table))
    for setup in result.environment:
        yield from _environment(setup)
    yield f"</main>\n<footer>{text(f'{result.run.tool} {result.run.version}, {result.run.id}')}"
    yield "</footer>"


def _verdict(block: VerdictBlock, heading: str) -> Iterator[str]:
    """The verdict and its subject, one line for each value, the reasons, and what to do next."""
    word = f'<span class="word {block.style}">{text(block.word)}</span>'
    yield f'<section class="verdict {block.style}">\n<{heading}>{word} '
    yield f"{text(block.subject)}</{heading}>\n"
    said = "; ".join(filter(None, (block.meaning, block.effort)))
    yield f"<p>{text(said)}</p>\n" if said else ""
    if block.lines:
        yield '<ul class="values">\n' + "".join(map(_value, block.lines)) + "</ul>\n"
    if more := (*block.reasons, *block.next, *block.remarks):
        yield "<ul>" + "".join(f"<li>{text(each)}</li>" for each in more) + "</ul>\n"
    yield "</section>\n"


def _value(line: VerdictLine) -> str:
    kind = ' class="part"' if line.part else ""
    cells = [text(line.name), text(" → ".join(line.values))]
    if line.outcome:
        change = f"<b>{text(line.change)}</b> {text(line.interval)}".rstrip()
        cells.append(f'{change} <b class="{line.style}">{text(line.outcome)}</b>')
    elif line.interval:
        cells.append(text(line.interval))
    return f"<li{kind}>{''.join(f'<span>{cell}</span> ' for cell in cells)}</li>\n"


def _decision(result: BenchResult) -> Iterator[str]:
    decision = result.decision
    if decision is None:
        return
    said = "".join(decision_words(result, decision))
    yield f'<h2 class="{STYLES[decision.verdict]}">{text(said)}</h2>\n<ul>'
    yield "".join(f"<li>{text(reason)}</li>" for reason in decision.reasons)
    yield "</ul>\n"


def _tables(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[str]:
    yield "<h2>What was measured</h2>\n"
    for matrix in matrices([result]):
        yield from table_text(matrix_table(matrix))
    if table:
        yield from _measured(result, table)
    if result.run.design == "paths":
        found = [drop_words(drop) for drop in drops(table, result)]
        yield from _listed("Where it drops, by medians", found or ["nowhere beyond the margin"])


def _measured(result: BenchResult, table: Sequence[MetricRow]) -> Iterator[str]:
    """HTML of the table of measured values. Arms after the first also have a cell with effect and
    verdict."""
    compared = [arm for arm in result.arms if any(arm in row.compared for row in table)]
    heads = ["metric", *result.arms, *(f"{arm}: effect" for arm in compared)]
    yield from table_text(measured_table(table, heads, result.arms, compared, caption=_CAPTION))


def _words(caption: str, heads: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A table of words."""
    yield from table_text(Table(caption, heads, tuple(map(model.Row, lines)), words=True))


def _charts(result: BenchResult) -> Iterator[str]:
    from vnicaudit.reports.bench.charts.draw import charts, inline

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
        yield from _words(guard_total(result.guard_rails), heads, lines)


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if title:
        yield f"<h2>{text(title)}</h2>\n<ul>"
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
        yield from _words(f"At {setup.endpoint}", ("what", "found"), lines)
