"""The runs of a state folder that did not come to their end."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.past_run import PastRun, read_run
from vnicaudit.remedy.applying.journal.state import StateFolder


class UnfinishedRuns:
    """The unfinished runs, as they are at the time of each question; one that has come to its end
    is read once."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._ended: set[str] = set()

    def beside(self, run: str) -> Iterator[PastRun]:
        """Those of which something can be told, but for the run of that id. Raises UsageError."""
        for run_id in self._state.ids():
            found = None if run_id in {run, *self._ended} else self._read(run_id)
            if found is None:
                continue
            if found.is_unfinished:
                yield found
            else:
                self._ended.add(run_id)

    def half_done(self, *, but: str) -> set[str]:
        """The targets on which a run, but for that of that id, began a change and left it
        unfinished. Raises UsageError."""
        return {
            unit.target for found in self.beside(but)
            for unit in found.request.units if found.is_open(unit.key)
        }  # fmt: skip

    def _read(self, run_id: str) -> PastRun | None:
        try:
            return read_run(self._state.run(run_id))
        except UsageError:
            return None
