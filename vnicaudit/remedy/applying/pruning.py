"""Remove old runs. A removed run can no longer be undone."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from vnicaudit.base.identifiers import TIME_ID
from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.history import record
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past
from vnicaudit.remedy.applying.journal.state import StateFolder

_ASIDE = ".removed-"
"""Prefix of a run's folder that is being removed."""


def old_runs(state: StateFolder, before: datetime) -> list[PastRun]:
    """The runs that ended before a moment, oldest first. Unfinished or damaged runs stay, and so do
    all runs that undo, or are undone by, one that stays: together they tell what is in effect, and
    resuming a rollback needs the run that it undoes."""
    past = list(all_past(state))
    old = {run.request.id: run for run in past if _ended_before(run, before)}
    links = [(run.request.id, run.request.plan) for run in past if run.request.kind == "rollback"]
    staying = _linked(set(state.ids()) - old.keys(), links)
    return [old[run_id] for run_id in sorted(old.keys() - staying)]


def remove_runs(runs: Sequence[PastRun]) -> None:
    """Remove these runs, each before the runs that undo it: wherever this stops, no remaining run
    was undone by a removed one. Raises UsageError if the file system refuses; each run is then
    either complete, or no longer counts as a run (see :func:`remove_leftovers`)."""
    for run in sorted(runs, key=lambda one: one.request.id):  # an undoing run is newer
        aside = run.folder.with_name(f"{_ASIDE}{run.folder.name}")
        try:
            run.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise _not_removed(run.folder, error) from None


def remove_leftovers(state: StateFolder) -> None:
    """Remove what an interrupted removal left behind: definitions, with passwords in them. Raises
    UsageError if the file system refuses."""
    state.ids()  # raises if another user could change the folder
    for folder in (state.path / "runs").glob(f"{_ASIDE}*"):
        if TIME_ID.fullmatch(folder.name.removeprefix(_ASIDE)):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise _not_removed(folder, error) from None


def _not_removed(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{error.filename or folder}: {error.strerror or error}")


def _linked(ids: Iterable[str], links: Sequence[tuple[str, str]]) -> set[str]:
    """These ids, and all ids linked with them, directly or through others."""
    found = set(ids)
    while more := {one for link in links if found.intersection(link) for one in link} - found:
        found |= more
    return found


def _ended_before(run: PastRun, before: datetime) -> bool:
    if run.is_unfinished or run.damage:
        return False
    finished = record(run).finished
    return finished is not None and datetime.fromisoformat(finished.replace("Z", "+00:00")) < before
