"""A run that was looked at later, for people: in effect, waiting, or not as planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from vnicaudit.model.runs import Check
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import count
from vnicaudit.reports.wrap import wrap
from vnicaudit.reports.writer import Options

_STYLES = {
    "in-effect": "good", "waiting": "medium", "unknown": "medium", "differs": "bad",
    "gone": "quiet", "taken-back": "quiet", "ok": "good", "failed": "bad",
}  # fmt: skip


class Seen(Protocol):
    """One domain, file, server, image or flavor."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def state(self) -> str:
        """``in-effect``, ``waiting``, ``differs``, ``gone``, ``unknown`` or ``taken-back``."""

    @property
    def detail(self) -> str:
        """Why."""

    @property
    def checks(self) -> Iterable[Check]:
        """What was looked at."""


def render(units: Sequence[Seen], options: Options, paint: Paint) -> Iterator[str]:
    """A line for each, why, its checks, and the totals (not where it is to be quiet)."""
    for unit in units:
        state = f"{unit.state:10}"
        yield f"  {paint(_STYLES[unit.state], unit.state)}{state[len(unit.state) :]}  "
        yield f"{safe(unit.name)}\n"
        if unit.detail:
            yield wrap(safe(unit.detail), options.width, "    ", "    ")
        for check in unit.checks:
            about = f"{check.name}: {check.detail}" if check.detail else check.name
            line = wrap(f"{check.verdict:7}  {safe(about)}", options.width, "    ", " " * 13)
            yield line.replace(check.verdict, paint(_STYLES[check.verdict], check.verdict), 1)
    if not options.quiet:
        numbers = Counter(unit.state for unit in units)
        parts = ", ".join(f"{number:,} {state}" for state, number in numbers.items())
        yield f"\n{count(len(units), 'unit')}: {parts}\n"
