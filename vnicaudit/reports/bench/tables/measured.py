"""Table of all measured values: workload by workload, one row per metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import Comparison
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import MetricRow
from vnicaudit.reports.bench.words.labels import describe, metric_words
from vnicaudit.reports.table import model
from vnicaudit.reports.table.model import Cell, Group, Part, Table


def measured_table(
    rows: Sequence[MetricRow],
    heads: Sequence[str],
    arms: Sequence[str],
    compared: Sequence[str],
    *,
    caption: str = "",
    apart: bool = False,
) -> Table:
    """Table of the values of each of ``arms``, with effect and verdict of those ``compared``;
    ``apart``: in separate columns."""
    found = (
        model.Row(
            (
                metric_words(row.metric),
                *(_measured(row, arm) for arm in arms),
                *(cell for arm in compared for cell in _compared(row.compared.get(arm), apart)),
            ),
            _group(rows, at),
        )
        for at, row in enumerate(rows)
    )
    return Table(caption, tuple(heads), tuple(found), grouped_by="Workload")


def _group(rows: Sequence[MetricRow], at: int) -> Group | None:
    """A heading for the workload, if it differs from that of the row before."""
    workload = rows[at].workload
    if at and rows[at - 1].workload.id == workload.id:
        return None
    return Group(workload.id, describe(workload))


def _measured(row: MetricRow, arm: str) -> Cell:
    share = f"{cells.line_rate(row, arm)} of line rate"
    return (
        *cells.median_parts(row, arm),
        *([Part(share, "note")] if cells.has_line_rate(row) else []),
    )


def _compared(comparison: Comparison | None, apart: bool) -> Iterator[Cell]:
    found = () if comparison is None else cells.effect(comparison)
    verdict = (*cells.verdict(comparison), *cells.notes(comparison))
    yield from (found, verdict) if apart else ((*found, *verdict),)
