"""``vnicaudit.runs/1``: one run per line, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from vnicaudit.model.runs import RunRecord
from vnicaudit.reports.safe import encode_items

RUNS_SCHEMA: Literal["vnicaudit.runs/1"] = "vnicaudit.runs/1"


class RunsReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.runs/1``: changes applied and undone, newest first."""

    schema: Literal["vnicaudit.runs/1"] = RUNS_SCHEMA
    runs: tuple[RunRecord, ...]


def to_json(runs: Sequence[RunRecord]) -> bytes:
    """The document, in the given order."""
    items = f"\n{encode_items(runs)}" if runs else ""
    return f'{{"schema":"{RUNS_SCHEMA}",\n"runs":[{items}]}}\n'.encode()
