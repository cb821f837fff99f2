"""Remove old runs. One that is removed can no longer be undone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime

from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.history import current_record
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past
from vnicaudit.remedy.applying.journal.state import StateFolder


def old_runs(state: StateFolder, before: datetime) -> list[PastRun]:
    """The runs that ended before a moment, newest first. Runs that are unfinished or damaged stay,
    and so do rollbacks of runs that stay: they say what is undone."""
    past = list(all_past(state))
    old = {run.request.id: run for run in past if _ended_before(run, before)}
    staying = {run.request.id for run in past} - old.keys()
    for run in past:  # newest first: what undoes a rollback comes before it
        if run.request.kind == "rollback" and run.request.plan in staying:
            old.pop(run.request.id, None)
            staying.add(run.request.id)
    return list(old.values())


def remove_runs(runs: Sequence[PastRun]) -> None:
    """Remove these. Raises UsageError where the file system does not allow it; each is there as a
    whole or not at all."""
    for run in runs:
        aside = run.folder.with_name(f".removed-{run.folder.name}")
        try:
            run.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise UsageError(f"{error.filename or run.folder}: {error.strerror}") from None


def _ended_before(run: PastRun, before: datetime) -> bool:
    if run.is_unfinished or run.damage:
        return False
    finished = current_record(run).finished
    return finished is not None and datetime.fromisoformat(finished.replace("Z", "+00:00")) < before
