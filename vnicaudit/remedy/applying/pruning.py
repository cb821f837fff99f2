"""Remove old runs. One that is removed can no longer be undone."""

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
"""Begins the name of a run's folder that is being removed."""


def old_runs(state: StateFolder, before: datetime) -> list[PastRun]:
    """The runs that ended before a moment, oldest first. Runs that are unfinished or damaged stay,
    and so does all that undoes, or is undone by, one that stays: together they say what is in
    effect, and a rollback that is to be finished needs the run that it undoes."""
    past = list(all_past(state))
    old = {run.request.id: run for run in past if _ended_before(run, before)}
    links = [(run.request.id, run.request.plan) for run in past if run.request.kind == "rollback"]
    staying = _linked(set(state.ids()) - old.keys(), links)
    return [old[run_id] for run_id in sorted(old.keys() - staying)]


def remove_runs(runs: Sequence[PastRun]) -> None:
    """Remove these, each before what undoes it: wherever this ends, no run that is left was undone
    by one that is gone. Raises UsageError where the file system does not allow it; each is there as
    a whole, or is no run any more (see :func:`remove_leftovers`)."""
    for run in sorted(runs, key=lambda one: one.request.id):  # what undoes a run is newer
        aside = run.folder.with_name(f"{_ASIDE}{run.folder.name}")
        try:
            run.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise _not_removed(run.folder, error) from None


def remove_leftovers(state: StateFolder) -> None:
    """Remove what an earlier removal was stopped in: it holds definitions, and passwords in them.
    Raises UsageError where the file system does not allow it."""
    state.ids()  # raises where somebody else decides what is there
    for folder in (state.path / "runs").glob(f"{_ASIDE}*"):
        if TIME_ID.fullmatch(folder.name.removeprefix(_ASIDE)):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise _not_removed(folder, error) from None


def _not_removed(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{error.filename or folder}: {error.strerror or error}")


def _linked(ids: Iterable[str], links: Sequence[tuple[str, str]]) -> set[str]:
    """These, and all that they are linked with, also by others."""
    found = set(ids)
    while more := {one for link in links if found.intersection(link) for one in link} - found:
        found |= more
    return found


def _ended_before(run: PastRun, before: datetime) -> bool:
    if run.is_unfinished or run.damage:
        return False
    finished = record(run).finished
    return finished is not None and datetime.fromisoformat(finished.replace("Z", "+00:00")) < before
