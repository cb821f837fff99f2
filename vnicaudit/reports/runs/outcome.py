"""The result of a finished run, for people: one line for each guest. What several guests have in
common is printed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.runs import RunRecord, UnitRun
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.runs.text import (
    OUTCOME,
    alike,
    check_text,
    counts,
    style_of,
    unit_words,
    word_of,
)
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.columns import padded_cell
from vnicaudit.reports.table.model import Part
from vnicaudit.reports.wrap import Piece, fold, wrap
from vnicaudit.reports.writer import Options


def render_outcome(run: RunRecord, options: Options) -> Iterator[str]:
    """Each guest with its outcome and errors, then the totals. ``verbose`` adds every check,
    otherwise only those that failed; ``quiet`` leaves out the totals."""
    paint = Paint(color=options.color)
    messages = Counter(unit.message for unit in run.steps if unit.message)
    common = {message: number for message, number in messages.items() if number > 1}
    shared = alike(run.steps)
    for unit in run.steps:
        words = unit_words(unit, verbose=options.verbose, shared=shared)
        yield from _unit(unit, words, run, options, paint, frozenset(common))
    for message, number in common.items():
        yield wrap(f"{count(number, 'guest')}: {safe(message)}", options.width, "  ", "    ")
    if not options.quiet:
        yield f"\nRun {safe(run.id)}: {counts(run.steps, run.kind)}\n"


def _unit(
    unit: UnitRun,
    words: list[str],
    run: RunRecord,
    options: Options,
    paint: Paint,
    common: frozenset[str],
) -> Iterator[str]:
    outcome = word_of(unit, run.kind)
    pieces = [padded_cell(Part(outcome, style=style_of(outcome)), OUTCOME, paint)]
    if unit.target != unit.name and (len(run.targets) > 1 or unit.kind == "file"):
        words.append(unit.target)
    pieces.extend(Piece(word, word) for word in map(safe, words) if word)
    yield fold(pieces, options.width, "  ", "    ", "  ")
    if unit.message and unit.message not in common:
        yield wrap(safe(unit.message), options.width, "    ", "    ")
    for check in unit.checks:
        if options.verbose or check.verdict != "ok":
            yield check_text(check, options.width, paint)
