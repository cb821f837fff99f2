"""A run that was verified later, for people: in effect, waiting, or not as planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from vnicaudit.base.wording import count
from vnicaudit.model.runs import Check
from vnicaudit.reports.runs.text import check_text
from vnicaudit.reports.safe import Paint, safe, wrap
from vnicaudit.reports.table.model import Part, padded_cell
from vnicaudit.reports.writers import Options

_STATE = 10
"""Width of the longest state."""
_STYLES = {
    "in-effect": "good", "waiting": "medium", "unknown": "medium", "differs": "bad",
    "gone": "quiet", "moved": "medium", "taken-back": "quiet",
}  # fmt: skip


class CheckedUnit(Protocol):
    """One domain, file, server, image or flavor that was verified."""

    @property
    def name(self) -> str:
        """Name of the unit that was checked."""

    @property
    def state(self) -> str:
        """``in-effect``, ``waiting``, ``differs``, ``gone``, ``moved``, ``unknown`` or
        ``taken-back``."""

    @property
    def detail(self) -> str:
        """Reason of the state."""

    @property
    def checks(self) -> Iterable[Check]:
        """Checks that were made of the unit."""


def render(units: Sequence[CheckedUnit], options: Options) -> Iterator[str]:
    """One line for each unit, the reason, its checks, and the totals (unless quiet)."""
    paint = Paint(color=options.color)
    for unit in units:
        state = padded_cell(Part(unit.state, style=_STYLES[unit.state]), _STATE, paint)
        yield f"  {state.painted}  {safe(unit.name)}\n"
        if unit.detail:
            yield wrap(safe(unit.detail), options.width, "    ", "    ")
        for check in unit.checks:
            yield check_text(check, options.width, paint)
    if not options.quiet:
        numbers = Counter(unit.state for unit in units)
        parts = ", ".join(f"{number:,} {state}" for state, number in numbers.items())
        yield f"\n{count(len(units), 'unit')}: {parts}\n"
