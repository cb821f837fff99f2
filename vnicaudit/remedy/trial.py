"""The interface to whoever measures, while a plan is applied, whether the change helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.hypervisor import Hypervisor


class Trial(Protocol):
    """Measures one guest before its change, and after it.

    What was measured before is kept in the run's folder: a run that was ended in between is carried
    on by another process.
    """

    def before(self) -> None:
        """Measure the guest as it is. Raises VnicauditError where it cannot be measured: nothing
        is changed then."""

    def after(self) -> str:
        """Measure again; why the change is to be taken back, empty where it is to stay."""

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        """Be told what became of the guest. ``undone``: of one whose change did not stay, that it
        is as it was before."""


Trials = Callable[[Path, str, Hypervisor, str, tuple[str, ...]], Trial]
"""Folder of the run, key of the unit, its host, the domain's UUID, and the MACs that change."""
