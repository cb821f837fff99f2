"""Rows as CSV, for spreadsheets, R and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from vnicaudit.reports.safe import csv_cell


def lines(rows: Iterable[Iterable[str | int | float | None]]) -> str:
    """Rows as lines that end with a line feed. Text is made safe; None becomes an empty cell."""
    text = io.StringIO()
    # quote all: some spreadsheets also split cells at semicolons
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: str | int | float | None) -> str:
    if value is None:
        return ""
    return csv_cell(value) if isinstance(value, str) else repr(value)
