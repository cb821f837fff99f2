"""``vnicaudit.dry-run/1``: predicted outcome of a run, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from vnicaudit.model.plan import Mode
from vnicaudit.model.runs import Foreseen
from vnicaudit.reports.encode import encode_items

DRY_RUN_SCHEMA: Literal["vnicaudit.dry-run/1"] = "vnicaudit.dry-run/1"
RunKind = Literal["apply", "rollback"]


class DryRunReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.dry-run/1``: what would happen to each domain (or file, or server, image or
    flavor of a cloud). ``not_applied``: steps of the plan that would not be tried, and why."""

    schema: Literal["vnicaudit.dry-run/1"] = DRY_RUN_SCHEMA
    kind: RunKind
    mode: Mode
    units: tuple[Foreseen, ...]
    not_applied: tuple[Foreseen, ...] = ()


def to_json(
    kind: RunKind, mode: Mode, units: Sequence[Foreseen], not_applied: Sequence[Foreseen] = ()
) -> bytes:
    """The document: one unit per line, in the order of the run."""
    return (
        f'{{"schema":"{DRY_RUN_SCHEMA}",\n"kind":"{kind}",\n"mode":"{mode}",\n'
        f'"units":[{_lines(units)}],\n"not_applied":[{_lines(not_applied)}]}}\n'
    ).encode()


def _lines(units: Sequence[Foreseen]) -> str:
    return f"\n{encode_items(units)}" if units else ""
