"""Definitions in files of this machine, which are replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import cast

from vnicaudit.audit.reading.files import MAX_BYTES
from vnicaudit.base.wording import word
from vnicaudit.errors import RefusedError
from vnicaudit.model.plan import FileUnit, Step, UnitStep
from vnicaudit.model.runs import UnitState
from vnicaudit.platforms.domain_xml.write import all_rewritten, rewritten
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DefinitionTransaction,
    kept_original,
    original_of,
    reversed_transaction,
)
from vnicaudit.remedy.applying.domains.prepare import of_the_plan
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    Driver,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitWork,
    steps_on,
)
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    NicChanges,
    Replacing,
    Result,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.replacing import (
    UnitRefusedError,
    check_about,
    check_diff,
    digest,
    is_of_source,
    read_file,
    replace_file,
    short_digest,
    unified_diff,
)

_MOST = 64 << 20
"""Maximum size of a file of definitions, in bytes."""

FileWork = UnitWork[None, DefinitionTransaction]
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
    """Write the new content to the file, or with ``back`` the old one. A file that somebody else
    changed is left as it is."""
    try:
        _replace(work, back=back)
    except RefusedError as error:
        return Result("failed", f"the file was not changed: {error}")
    return Result("applied", "changed on disk; libvirt uses it after virsh define")


def _replace(work: FileWork, *, back: bool) -> None:
    transaction, path = work.transaction, work.unit.file or ""
    before = work.texts.get("before", transaction.before, transaction.by_hand(work.unit))
    goal = work.texts.get("goal", transaction.goal, transaction.by_hand(work.unit))
    if back:
        before, goal = goal, before
    now = read_file(path, len(before) + len(goal) + 1)
    if now == goal:
        return
    if now != before:
        raise UnitRefusedError("somebody else changed it in the meantime", "edited")
    work.notes.write(Replacing())
    replace_file(path, before, goal)
    if read_file(path, len(goal) + 1) != goal:
        raise UnitRefusedError("the file was not written as planned", "edited")


def prepare_file(steps: tuple[FileUnitStep, ...]) -> Prepared:
    """The transaction of the steps in one file. Raises RefusedError with the reason if the change
    is not started."""
    first = steps[0]
    path = first.unit.path
    before = read_file(path, MAX_BYTES)
    if not is_of_source(first, digest(before)):
        if _is_so(before, steps):
            return NOTHING_TO_DO
        raise UnitRefusedError(
            "the file has changed since the plan was made: make a new plan", "drift"
        )
    for step in steps:
        with of_the_plan():
            after = _text_after(before, (step,))
        check_diff(step, unified_diff(before, after, path))
        check_about(step, step.unit.place)
    goal = _text_of_all(before, steps)
    wanted = tuple(
        NicChanges(step.about.index or 0, 0, step.about.mac or "", step.changes) for step in steps
    )
    transaction = DefinitionTransaction(
        "next-boot", wanted, before=digest(before), goal=digest(goal)
    )
    return Prepared(transaction, before, goal)


def _text_after(data: bytes, steps: Iterable[FileUnitStep]) -> bytes:
    for step in steps:
        place = step.unit.place
        if place is None:
            raise UnitRefusedError(
                f"step {step.id} has no place in the file: make a new plan", "plan"
            )
        data = rewritten(data, place, step.changes)
    return data


def _text_of_all(data: bytes, steps: tuple[FileUnitStep, ...]) -> bytes:
    """The text with the changes of all steps: made together, unless two steps are on one NIC."""
    wanted = [(step.unit.place or "", step.changes) for step in steps]
    if len(dict(wanted)) < len(wanted):
        return _text_after(data, steps)
    return all_rewritten(data, wanted)


def _is_so(data: bytes, steps: Iterable[FileUnitStep]) -> bool:
    """True if the text already has every change of the steps: writing them would alter
    nothing."""
    for step in steps:
        for change in step.changes:
            try:
                if rewritten(data, step.unit.place or "", (change,)) != data:
                    return False
            except RefusedError:
                if change.new is not None:  # it is removed already
                    return False
    return True


class FileDriver(Driver):
    """Changes files of this machine."""

    kind = "file"
    is_text = True
    keeps_texts = True

    @classmethod
    def key(cls, step: Step) -> str:
        """All domains of a file are changed together."""
        return f"file-{short_digest(cast(FileUnit, step.unit).path.encode(), 24)}"

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The file."""
        on_file = steps_on(FileUnit, steps)
        return unit_of(key, steps, cls.kind, name_of(on_file), file=on_file[0].unit.path)

    def open(self, unit: UnitRequest) -> None:
        """Keep other runs away from files."""
        del unit
        self._session.hold("files", "files of this machine")

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that the steps make to the file's text."""
        del unit, request
        return prepare_file(steps_on(FileUnit, steps))

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The text as it was before the run."""
        transaction = request.transaction(unit, DefinitionTransaction)
        goal = original_of(request.run, unit, transaction)
        before = KeptTexts(request.run.folder, unit.key).get(
            "goal", transaction.goal, transaction.by_hand(unit)
        )
        current = _current(unit, request, len(before) + len(goal) + 1)
        if current == goal:
            return NOTHING_TO_DO
        if current != before:
            which = f"--restore --domain {word(unit.file or '')}"
            ignored = "--over-edits is not for files; " if request.over_edits else ""
            raise UnitRefusedError(
                f"{ignored}somebody has changed the file since: check it and correct it by hand, "
                f"or restore the whole original: {request.run.rollback_command(which)}",
                "edited",
            )
        return Prepared(reversed_transaction(transaction, before, goal), before, goal)

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the saved text."""
        _, original = kept_original(request.run, unit)
        current = _current(unit, request, _MOST)
        if current == original:
            return NOTHING_TO_DO
        transaction = DefinitionTransaction(
            "next-boot", before=digest(current), goal=digest(original)
        )
        return Prepared(transaction, current, original)

    def forward(self, work: BegunUnit) -> Result:
        """Replace the file's content."""
        return replaced(work.at(None, DefinitionTransaction), back=False)

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the file's content from before the run."""
        result = replaced(work.at(None, DefinitionTransaction), back=True)
        if result.outcome == "failed":
            return result
        return Result(undoing.outcome, f"{undoing.reason}; it was put back")

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """The state of the file: ``in-effect`` with the content that the run gave it, else
        ``differs``."""
        transaction = begin.of(DefinitionTransaction)
        if digest(read_file(unit.file or "", _MOST)) == transaction.goal:
            return UnitState(unit.name, "in-effect", "the file is as planned")
        return UnitState(unit.name, "differs", "the file is not as the run left it")


def _current(unit: UnitRequest, request: UndoRequest, size: int) -> bytes:
    """The present content of the file, at most ``size`` bytes. Raises RefusedError if it cannot be
    read. A file that is gone is not created again: its owner and permissions would be unknown."""
    path = unit.file or ""
    if not os.path.lexists(path) and os.path.isdir(os.path.dirname(path) or "."):
        kept = KeptTexts(request.run.folder, unit.key).path("before")
        raise UnitRefusedError(
            "the file is gone: restore the original by hand, with the owner and mode it had: cp "
            f"{word(str(kept))} {word(path)}",
            "unreadable",
        )
    return read_file(path, size)
