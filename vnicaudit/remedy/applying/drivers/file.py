"""The driver for definitions in files, which are replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vnicaudit.base.shell import word
from vnicaudit.errors import GoneError, RefusedError
from vnicaudit.model.plan import FileUnit
from vnicaudit.remedy.applying.domains.definition_transactions import FileTransaction
from vnicaudit.remedy.applying.domains.files import FileUnitStep, name_of, replaced
from vnicaudit.remedy.applying.domains.originals import (
    kept_original,
    original_of,
    reversed_transaction,
)
from vnicaudit.remedy.applying.domains.prepare import prepare_file
from vnicaudit.remedy.applying.driver import (
    Kind,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitState,
)
from vnicaudit.remedy.applying.journal.events import Begin, Undoing
from vnicaudit.remedy.applying.journal.kept_texts import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.journal.run_request import UnitRequest, unit_of
from vnicaudit.remedy.applying.journal.transaction import transaction_of
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.work import BegunUnit
from vnicaudit.remedy.digests import digest, short_digest
from vnicaudit.remedy.replacing import read_file
from vnicaudit.remedy.unit_refusal import UnitRefusedError

_MOST = 64 << 20
"""Maximum size of a file of definitions, in bytes."""


def _key(step: FileUnitStep) -> str:
    return f"file-{short_digest(step.unit.path.encode(), 24)}"


def _unit(key: str, steps: tuple[FileUnitStep, ...]) -> UnitRequest:
    return unit_of(key, steps, "file", name_of(steps), file=steps[0].unit.path)


class FileDriver:
    """Changes files of this machine."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._texts = session.adapters.texts

    def check(self, unit: UnitRequest) -> None:
        """Does nothing: a file needs no connection."""

    def open(self, unit: UnitRequest) -> None:
        """Keep other runs away from files."""
        del unit
        self._session.hold("files", "files of this machine")

    def prepare(
        self, unit: UnitRequest, steps: tuple[FileUnitStep, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that the steps make to the file's text."""
        del request
        return prepare_file(steps, unit.key, self._texts)

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The text as it was before the run."""
        transaction = request.transaction(unit, FileTransaction)
        goal = original_of(request.run, transaction)
        before = KeptTexts(request.run.folder, transaction.key).get(
            "goal", transaction.goal, transaction.by_hand()
        )
        current = _current(unit, request, len(before) + len(goal) + 1)
        if current == goal:
            return Prepared(None)
        if current != before:
            which = f"--restore --domain {word(transaction.file or '')}"
            ignored = "--over-edits is not for files; " if request.over_edits else ""
            raise UnitRefusedError(
                f"{ignored}somebody has changed the file since: check it and correct it by hand, "
                f"or restore the whole original: {request.run.rollback_command(which)}",
                "edited",
            )
        if len(request.select_changes(transaction.nic_changes)) < len(transaction.nic_changes):
            raise UnitRefusedError(
                "a file can only be restored as a whole: leave out --nic",
                "whole-only",
            )
        return Prepared(
            reversed_transaction(transaction, transaction.nic_changes, before, goal), before, goal
        )

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the saved text."""
        _, original = kept_original(request.run, unit, FileTransaction)
        current = _current(unit, request, _MOST)
        if current == original:
            return Prepared(None)
        transaction = FileTransaction(
            unit.key, unit.name, unit.target, unit.steps, "next-boot",
            file=unit.file or "", before=digest(current), goal=digest(original),
        )  # fmt: skip
        return Prepared(transaction, current, original)

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run saved the original file."""
        return KeptTexts(run.folder, unit.key).has("before")

    def forward(self, work: BegunUnit) -> Result:
        """Replace the file's content."""
        try:
            return replaced(work.at(None, FileTransaction), back=False)
        except RefusedError as error:
            return Result("failed", f"the file was not changed: {error}")

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the file's content from before the run."""
        try:
            result = replaced(work.at(None, FileTransaction), back=True)
        except RefusedError as error:
            return Result("failed", f"the file was not changed: {error}")
        return Result(undoing.outcome, f"{undoing.reason}; it was put back", result.checks)

    def verify(self, unit: UnitRequest, begin: Begin, back: Mapping[str, str]) -> UnitState:
        """The state of the file: ``in-effect`` with the content that the run gave it, else
        ``differs``."""
        del back
        transaction = transaction_of(begin, FileTransaction)
        if digest(read_file(transaction.file, _MOST)) == transaction.goal:
            return UnitState(unit.name, "in-effect", "the file is as planned")
        return UnitState(unit.name, "differs", "the file is not as the run left it")

    def explain(self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool) -> Result:
        """``gone``, whether its change was started or not: there is nothing to finish or undo."""
        del unit, begun
        return Result("gone", str(error) if dry_run else f"{error}: there is nothing left to do")


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


FILE = Kind(
    "file",
    FileUnit,
    _key,
    _unit,
    FileDriver,
    is_text=True,
    bench=True,  # accepted: a file has no running guest to measure
)
"""Definitions in files of this machine."""
