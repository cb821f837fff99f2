"""The verdict for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vnicaudit.reports.bench.verdict.block import VerdictBlock
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, safe
from vnicaudit.reports.table.model import Cell, Grid, Part, TableLine, piece_of

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
