"""One definition in a file on its way, forward or back."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.errors import RefusedError
from vnicaudit.remedy.applying.means import Definitions, Notes, Result
from vnicaudit.remedy.applying.task import Task, by_hand
from vnicaudit.remedy.replacing import replace_file
from vnicaudit.text.regular import open_regular

_LATER = "libvirt knows nothing of the file until it is defined (virsh define)"


class FileMeans(NamedTuple):
    """All that a unit in a file works with."""

    task: Task
    notes: Notes
    definitions: Definitions

    def kept(self, kind: str) -> bytes:
        """What the file was, or is to be. Raises KeptError where what was kept is another."""
        wanted = self.task.before if kind == "before" else self.task.goal
        return self.definitions.get(kind, wanted, by_hand(self.task))


def carry_out_file(means: FileMeans) -> Result:
    """Replace the file's content, or put the old one back where that was begun."""
    undoing = means.notes.last("undoing")
    try:
        before, goal = means.kept("before"), means.kept("goal")
        if undoing is not None:
            before, goal = goal, before
        result = _replaced(means, before, goal)
    except RefusedError as error:
        result = Result("failed", f"the file was left as it is: {error}")
    if undoing is not None and result.outcome == "applied":
        result = Result(undoing["outcome"], f"{undoing['reason']}; it was put back")
    means.notes.write(
        "done", outcome=result.outcome, message=result.message, checks=[], downtime=None
    )
    return result


def _replaced(means: FileMeans, before: bytes, goal: bytes) -> Result:
    path = means.task.file or ""
    now = read(path, len(before) + len(goal) + 1)
    if now != goal:
        if now != before:
            raise RefusedError("somebody else changed it meanwhile")
        means.notes.write("replacing")
        replace_file(path, before, goal)
        if read(path, len(goal) + 1) != goal:
            raise RefusedError("it did not come out as it was to be")
    return Result("applied", _LATER)


def read(path: str, size: int) -> bytes:
    """At most ``size`` bytes of a file. Raises RefusedError where it cannot be read."""
    try:
        with open_regular(path) as stream:  # a FIFO by now, say, must not be waited for
            return stream.read(size)
    except OSError as error:
        raise RefusedError(f"it cannot be read: {error.strerror}") from None
