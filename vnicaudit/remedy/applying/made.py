"""What an earlier run has made of a definition, and what that was before."""

from __future__ import annotations

from contextlib import suppress

from vnicaudit.errors import KeptError, RefusedError
from vnicaudit.remedy.applying.means import Definitions
from vnicaudit.remedy.applying.task import Task, by_hand
from vnicaudit.remedy.definitions import likeness
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.history import Past

NOT_BEGUN = "it was not begun"


def task_of(found: Past, key: str) -> Task:
    """What the run was to do to that domain (or file). Raises RefusedError where it was not
    begun."""
    task = found.task(key)
    if not isinstance(task, Task):
        raise RefusedError(NOT_BEGUN)
    return task


def original_of(found: Past, task: Task) -> bytes:
    """The definition (or the file) as it was when the run began. Raises KeptError where what was
    kept is not that any more."""
    return Definitions(found.folder, task.key).get("before", task.before, by_hand(task))


def made_by(found: Past, key: str, current: bytes) -> bool:
    """Whether a definition is what the run has made of that domain's."""
    made = [entry.data.get("settled") for entry in found.of(key) if entry.event == "defined"]
    if not made or digest(current) in made:
        return bool(made)
    with suppress(KeptError):  # libvirt may hand out what was kept in another order by now
        settled = Definitions(found.folder, key).get("settled", str(made[-1]))
        return likeness().same(current, settled)
    return False
