"""How a unit ended."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.journal.events import Done


class Result(NamedTuple):
    """How a unit ended."""

    outcome: Outcome
    message: str = ""
    checks: tuple[Check, ...] = ()
    downtime: float | None = None
    undone: bool = True
    """Of one that failed: all of it was undone."""
    waits: bool = False
    """It is in effect when the guest, which runs otherwise, is powered off and on."""
    codes: tuple[str, ...] = ()
    """Of one that was refused: why, for machines."""


def done_with(result: Result) -> Done:
    """The line that ends a unit."""
    checks = tuple((one.name, one.verdict, one.detail) for one in result.checks)
    return Done(
        result.outcome,
        result.message,
        checks,
        result.downtime,
        result.undone,
        result.waits,
        result.codes,
    )
