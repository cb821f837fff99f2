"""The runs of a state folder that did not end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.past_run import PastRun, read_past
from vnicaudit.remedy.applying.journal.state import StateFolder


class UnfinishedRuns:
    """The unfinished runs at the time of each question. A run that has ended and has lost nothing
    is read only once."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def beside(self, run: str) -> Iterator[PastRun]:
        """The unfinished runs that can be read, except the run of that id. Raises UsageError."""
        for run_id in self._other_ids(run):
            found = None
            with suppress(UsageError):
                found = self._read(run_id)
            if found is not None and found.is_unfinished:
                yield found

    def half_done(self, *, but: str) -> dict[str, set[str]]:
        """The targets on which a run, other than ``but``, left a change half done, or may have;
        each with all targets of such runs. Also raises UsageError if a run cannot be read: nobody
        can tell what it left half done."""
        found: dict[str, set[str]] = {}
        for run in filter(None, map(self._read, self._other_ids(but))):
            for unit in run.request.units:
                if run.is_open(unit.key) or run.is_lost(unit.key):
                    found.setdefault(unit.target, set()).update(run.request.targets)
        return found

    def _other_ids(self, run: str) -> list[str]:
        return [run_id for run_id in self._state.ids() if run_id not in {run, *self._state.ended}]

    def _read(self, run_id: str) -> PastRun | None:
        """A run; None if it ended before anything was recorded, or was removed meanwhile. Raises
        UsageError if it cannot be read."""
        try:
            return read_past(self._state, run_id)
        except UsageError:
            if run_id in self._state.ids():
                raise
            return None
