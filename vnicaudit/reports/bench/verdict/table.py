"""The lines of a verdict as a table."""

from __future__ import annotations

from vnicaudit.reports.bench.verdict.block import VerdictBlock
from vnicaudit.reports.bench.verdict.verdict_lines import VerdictLine
from vnicaudit.reports.table.model import Cell, Part, Row, Table


def verdict_table(block: VerdictBlock) -> Table:
    """A row per line: each arm's median, and what changed where something is compared."""
    compared = any(line.outcome for line in block.lines)
    heads = ("Medians", *block.arms, *(("Change (95 %, plus is better)",) if compared else ()))
    return Table("", heads, tuple(Row(_cells(line, len(heads))) for line in block.lines))


def _cells(line: VerdictLine, width: int) -> tuple[Cell, ...]:
    values: list[Cell] = [*line.values]
    if line.outcome:
        outcome = Part(line.outcome, style=line.style, strong=True)
        values.append((Part(line.change), Part(line.interval, "aside"), outcome))
    elif line.interval and values:
        values[0] = (Part(line.values[0]), Part(line.interval, "aside"))
    padding = [""] * (width - 1 - len(values))
    return (line.name, *values, *padding)
