"""The working context of a unit's driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from vnicaudit.base.shell import word
from vnicaudit.base.waiting import Clock
from vnicaudit.remedy.applying.journal.events import Begin
from vnicaudit.remedy.applying.journal.kept_texts import KeptTexts
from vnicaudit.remedy.applying.journal.notes import Notes
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.journal.run_request import RunLimits, UnitRequest
from vnicaudit.remedy.applying.journal.transaction import Transaction, transaction_of
from vnicaudit.remedy.trial import Trials
from vnicaudit.text.own_commands import command

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
        return UnitWork(**own, place=place, transaction=transaction_of(self.begin, transaction))


class UnitWork(BegunUnit, Generic[P, T], frozen=True):
    """The working context of a driver. ``place``: the connection to the unit; ``transaction``: the
    change to make."""

    place: P
    transaction: T
