"""Check again and again whether a change helped, until all checks pass or the guest's time is up.

The checks come from the driver: they judge the running guest, not its definition. A check that
cannot be made from here is *unknown*, and says what would show its result.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.base.wording import word
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Result,
    RunLimits,
    Transaction,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.applying.journal.state import Notes
from vnicaudit.remedy.hypervisor import Trials
from vnicaudit.text.diff import command

# The working context of a unit's driver.


P = TypeVar("P")
T = TypeVar("T", bound=Transaction)


def rollback_command(run: str, unit: UnitRequest, folder: Path, options: str = "") -> str:
    """The command that rolls back one unit of a run. ``folder``: of any run of that state
    folder."""
    words = f"rollback {run} --domain {word(unit.file or unit.name)} {options}".rstrip()
    return command(words, folder.parent.parent)


class BegunUnit(msgspec.Struct, frozen=True):
    """A unit whose change was started, as its driver receives it. Functions in ``at_end`` are
    called with its result. ``rollback_of``: the run that is rolled back; empty: a plan is
    applied."""

    unit: UnitRequest
    begin: Begin
    notes: Notes
    texts: KeptTexts
    folder: Path
    limits: RunLimits
    clock: Clock
    tell: Callable[[str], None]
    trials: Trials | None
    at_end: list[Callable[[Result], None]]
    rollback_of: str

    def rollback_command(self, options: str) -> str:
        """The command that rolls back this unit alone or, in a rollback, tries that again."""
        return rollback_command(
            self.rollback_of or self.folder.name, self.unit, self.folder, options
        )

    def at(self, place: P, transaction: type[T]) -> UnitWork[P, T]:
        """The work on this unit at ``place``, with the transaction that its driver recorded. Raises
        KeptError if that is damaged."""
        own = {name: getattr(self, name) for name in BegunUnit.__struct_fields__}
        return UnitWork(**own, place=place, transaction=self.begin.of(transaction))


class UnitWork(BegunUnit, Generic[P, T], frozen=True):
    """The working context of a driver. ``place``: the connection to the unit; ``transaction``: the
    change to make."""

    place: P
    transaction: T


POLL = 0.2
"""Seconds between two rounds of checks."""
_LATE_SECONDS = 2.0
"""Seconds to wait for what may be done late: storing a definition or a property takes some
milliseconds."""


def wait_until(clock: Clock, fact: Callable[[], bool], seconds: float, poll: float = POLL) -> bool:
    """True as soon as ``fact`` holds; False if it does not within ``seconds``. It is checked every
    ``poll`` seconds."""
    end = clock.monotonic() + seconds
    while not fact():
        if clock.monotonic() > end:
            return False
        clock.sleep(poll)
    return True


def wait_for_late(clock: Clock, has_come: Callable[[], bool]) -> None:
    """Wait for what was asked for without an answer being seen: it may be done only now, although
    the host or the cloud has answered another question since."""
    wait_until(clock, has_come, _LATE_SECONDS)


class CheckResults(NamedTuple):
    """The results of one round of checks. ``over``: missing facts will not appear by themselves, so
    waiting is pointless."""

    checks: tuple[Check, ...]
    over: bool = False

    @property
    def settled(self) -> bool:
        """True if another round of checks would be pointless."""
        return self.over or not failed(self.checks)


def verify(
    work: BegunUnit, run_checks: Callable[[], CheckResults], poll: float = POLL
) -> tuple[Check, ...]:
    """The last results of every check: when all passed, when waiting was pointless, or when the
    guest's time was up. ``poll``: seconds between two rounds. An exception of ``run_checks`` (the
    other side stopped answering, the unit no longer exists) ends it."""
    seen = CheckResults(())

    def settled() -> bool:
        nonlocal seen
        seen = run_checks()
        return seen.settled

    wait_until(work.clock, settled, work.limits.guest_deadline, poll)
    return seen.checks


def failed(checks: tuple[Check, ...]) -> str:
    """Details of the failed checks, as one text; empty if none failed."""
    return "; ".join(check.detail for check in checks if check.verdict == "failed")
