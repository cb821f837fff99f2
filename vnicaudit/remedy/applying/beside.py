"""Other runs that were interrupted while they changed units of this run."""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.journal.unfinished_runs import UnfinishedRuns
from vnicaudit.remedy.applying.kinds import KindTable
from vnicaudit.remedy.unit_refusal import UnitRefusedError
from vnicaudit.text.own_commands import command


def refuse_beside(found: PastRun, units: Iterable[UnitRequest], kinds: KindTable) -> None:
    """Raises RefusedError if an unfinished run is in the middle of one of these domains."""
    begun = [unit for unit in found.request.units if found.is_open(unit.key)]
    for unit in units:
        if any(kinds.is_same(unit, other) for other in begun):
            run = found.request
            undoing = command(f"rollback {run.plan}", found.folder.parent.parent)
            again = undoing if run.kind == "rollback" else "apply its plan again"
            raise UnitRefusedError(
                f"run {run.id} is unfinished on {unit.name}: finish it ({again}), or undo it "
                f"({found.rollback_command()})",
                "held",
            )


class OtherRuns:
    """Runs other than ``mine`` that may be left half done while ``mine`` continues."""

    def __init__(self, state: StateFolder, kinds: KindTable, mine: PastRun) -> None:
        self._unfinished = UnfinishedRuns(state)
        self._kinds = kinds
        self._mine = mine.request.id

    def refuse_beside(self, unit: UnitRequest) -> None:
        """Raises RefusedError if one of them is in the middle of that unit, whose place is
        locked."""
        for found in self._unfinished.beside(self._mine):
            refuse_beside(found, (unit,), self._kinds)
