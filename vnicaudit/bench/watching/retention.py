"""Remove old runs of a watched path from the history of measurements; nothing else does."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from vnicaudit.bench.history import remove_measurement
from vnicaudit.bench.watching.series import PathIdentity
from vnicaudit.bench.watching.watched_runs import watched_runs


def drop_runs(state: Path, path: PathIdentity, before: float) -> int:
    """Remove the runs of ``bench watch`` on that path that started before that Unix time; returns
    their number. Other measurements, and other paths, stay. Raises UsageError if one cannot be
    removed."""
    old = takewhile(lambda run: run.time < before, watched_runs(state, None))
    mine = [run.folder.name for run in old if (run.target, run.peer) == path]
    for name in mine:
        remove_measurement(state, name)
    return len(mine)
