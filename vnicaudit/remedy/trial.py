"""The interface for measuring, while a plan is applied, if the change helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.hypervisor import Hypervisor


class Trial(Protocol):
    """Measures one guest before its change, and after it.

    The first result is saved in the run's folder, as an interrupted run is resumed by another
    process.
    """

    def before(self) -> None:
        """Measure the guest before its change. Raises VnicauditError if it cannot be measured:
        nothing is changed then."""

    def after(self) -> str:
        """Measure again. Returns why the change is to be undone; empty: it stays."""

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        """Is told the outcome for the guest. ``undone``: if the change did not stay, the guest is
        as it was before."""


Trials = Callable[[Path, str, Hypervisor, str, tuple[str, ...]], Trial]
"""Makes the Trial of a guest from the folder of the run, the key of the unit, its host, the
domain's UUID, and the MACs that change."""
