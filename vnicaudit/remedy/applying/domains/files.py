"""Change one definition in a file, or undo the change."""

from __future__ import annotations

from vnicaudit.model.plan import FileUnit, UnitStep
from vnicaudit.remedy.applying.domains.definition_transactions import FileTransaction
from vnicaudit.remedy.applying.journal.events import Replacing
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.work import UnitWork
from vnicaudit.remedy.replacing import read_file, replace_file
from vnicaudit.remedy.unit_refusal import UnitRefusedError

_LATER = "changed on disk; libvirt uses it after virsh define"

FileWork = UnitWork[None, FileTransaction]
"""The work on a file needs no connection: the file is on this machine."""


FileUnitStep = UnitStep[FileUnit]


def name_of(steps: tuple[FileUnitStep, ...]) -> str:
    """The name of the unit that these steps change: the domain's, or the file's path if several
    domains in it are changed. Those are rolled back together, so a domain's name would promise too
    little."""
    about, path = steps[0].about, steps[0].unit.path
    several = len({(one.about.name, one.about.id, one.unit.definition) for one in steps}) > 1
    return path if several else about.name or path


def replaced(work: FileWork, *, back: bool) -> Result:
    """Write the new content to the file, or with ``back`` the old one. Raises RefusedError if
    somebody else changed it."""
    transaction = work.transaction
    before = work.texts.get("before", transaction.before, transaction.by_hand())
    goal = work.texts.get("goal", transaction.goal, transaction.by_hand())
    if back:
        before, goal = goal, before
    path = transaction.file
    now = read_file(path, len(before) + len(goal) + 1)
    if now != goal:
        if now != before:
            raise UnitRefusedError("somebody else changed it in the meantime", "edited")
        work.notes.write(Replacing())
        replace_file(path, before, goal)
        if read_file(path, len(goal) + 1) != goal:
            raise UnitRefusedError("the file was not written as planned", "edited")
    return Result("applied", _LATER)
