"""The result of a unit."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.journal.events import Done


class Result(NamedTuple):
    """The result of a unit."""

    outcome: Outcome
    message: str = ""
    checks: tuple[Check, ...] = ()
    downtime: float | None = None
    undone: bool = True
    """For a failed unit: everything was undone."""
    waits: bool = False
    """The change takes effect when the running guest is powered off and on."""
    codes: tuple[str, ...] = ()
    """For a refused unit: the reasons, for programs."""


def done_with(result: Result) -> Done:
    """The line that finishes a unit."""
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
