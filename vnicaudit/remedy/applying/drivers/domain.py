"""The driver for domains of live hosts: redefine, restart or hot-swap, then check."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress

from msgspec.structs import replace

from vnicaudit.base.wording import word
from vnicaudit.errors import ActionError, GoneError, JournalError, RefusedError
from vnicaudit.model.plan import DomainUnit, FileUnit, UnitStep
from vnicaudit.remedy.applying.domains import driving as changing
from vnicaudit.remedy.applying.domains.checks import DomainChecks
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainPlace,
    DomainTransaction,
    DomainWork,
    FileTransaction,
    FileUnitStep,
    GuestBefore,
    is_unanswered,
    name_of,
    replaced,
    unmet,
)
from vnicaudit.remedy.applying.domains.driving import GuardedTrial, leave_nobody_off, undo
from vnicaudit.remedy.applying.domains.prepare import prepare, prepare_file
from vnicaudit.remedy.applying.domains.rollback import (
    DomainRollback,
    is_made_by,
    kept_original,
    original_of,
    reversed_transaction,
)
from vnicaudit.remedy.applying.driver import (
    Kind,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitState,
)
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Result,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.verifying import BegunUnit, failed
from vnicaudit.remedy.hypervisor import Hypervisor, Machine, Trial
from vnicaudit.remedy.replacing import UnitRefusedError, check_uri, digest, read_file, short_digest

_WAITS = (
    "it still runs with its old NIC: power it off and start it again (a reboot inside the guest "
    "is not enough)"
)
_NOWHERE = (
    "the domain is no longer on its host, nor on another host of this run: it was undefined, or "
    "moved to a host outside the run (make a plan there)"
)
_NOT_HERE = (
    "the domain is no longer on its host: it was undefined, or moved (make a plan where it is now)"
)
_MIDDLE = "; this happened in the middle of the change: its old definition is saved with the run"


def _key(step: UnitStep[DomainUnit]) -> str:
    """The UUID with the target: after a migration that left its definition behind, two hosts may
    have a domain of one UUID."""
    return f"{step.about.id}-{short_digest(step.target.encode(), 8)}"


def _unit(key: str, steps: tuple[UnitStep[DomainUnit], ...]) -> UnitRequest:
    return unit_of(key, steps, "domain", steps[0].about.name or "")


class DomainDriver:
    """Changes domains of the hosts that one command reaches."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._adapters = session.adapters
        self._hosts: dict[str, Hypervisor] = {}

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a URI that may start a program, unless the user named it."""
        check_uri(unit.target, self._session.reach.trusted)

    def open(self, unit: UnitRequest) -> None:
        """Connect to its host, and keep other runs away from it, on this machine and elsewhere."""
        if unit.target in self._hosts:
            return
        host = self._adapters.connect(unit.target, deadline=self._session.deadline)
        with ExitStack() as opened:
            opened.callback(host.close)
            self._session.hold(host.key, host.name, opened, host)
            self._session.at(unit.target).push(opened.pop_all())
        self._session.at(unit.target).callback(self._hosts.pop, unit.target)
        self._hosts[unit.target] = host

    def prepare(
        self, unit: UnitRequest, steps: tuple[UnitStep[DomainUnit], ...], request: PrepareRequest
    ) -> Prepared:
        """The change that the steps make to the domain's definition."""

        def earlier(current: bytes) -> bytes | None:
            """The original of a definition that an earlier run of this plan made; None if no run
            made it."""
            for run in request.earlier():
                if is_made_by(run, unit.key, current, self._adapters.texts.likeness):
                    return original_of(run, run.transaction(unit.key, DomainTransaction))
            return None

        host, machine = self._hosts[unit.target], self._machine(unit)
        return prepare(
            steps, machine, request.mode, unit.key, earlier, self._adapters, local=host.local
        )

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the domain's definition from before the run."""
        return DomainRollback(self._adapters, request).prepare(unit, lambda: self._machine(unit))

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the whole saved definition."""
        return DomainRollback(self._adapters, request).restore(unit, lambda: self._machine(unit))

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run saved the domain's original definition."""
        return KeptTexts(run.folder, unit.key).has("before")

    def forward(self, work: BegunUnit) -> Result:
        """Redefine the domain, have that take effect, and check the running guest."""
        at_work = self._at_work(work)
        try:
            return changing.forward(at_work)
        except JournalError:
            leave_nobody_off(at_work)
            raise

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the domain's definition and NICs from before the run."""
        at_work = self._at_work(work)
        try:
            late = is_unanswered(at_work)
            return undo(at_work, undoing.reason, undoing.outcome, late=late)
        except JournalError:
            leave_nobody_off(at_work)
            raise

    def verify(self, unit: UnitRequest, begin: Begin, back: Mapping[str, str]) -> UnitState:
        """The state of the definition and of the running guest, compared with the planned changes;
        NICs that were rolled back since are only mentioned."""
        transaction = begin.of(DomainTransaction)
        meant = replace(
            transaction,
            nic_changes=tuple(one for one in transaction.nic_changes if one.mac not in back),
        )
        seen = self._looked_at(unit, meant)
        told = [f"{mac} was rolled back by run {run}" for mac, run in back.items()]
        return seen._replace(detail="; ".join(filter(None, (seen.detail, *told))))

    def explain(self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool) -> Result:
        """``gone``; for a domain that is now on another host of the run, ``refused`` if its change
        was not started, else ``failed``: its owner has to check which definition it has there."""
        del error, dry_run
        place = self._elsewhere(unit)
        if place is None:
            nowhere = _NOT_HERE if self._session.host_by_host else _NOWHERE
            return Result("gone", nowhere + (_MIDDLE if begun else ""))
        if begun:
            why = f"it moved to {place} in the middle of the change: check it there"
            return Result("failed", why)
        why = f"it is now on {place}: make a plan there"
        return Result("refused", why, codes=("moved",))

    def _machine(self, unit: UnitRequest) -> Machine:
        return self._hosts[unit.target].machine(unit.uuid or "")

    def _at_work(self, work: BegunUnit) -> DomainWork:
        host = self._hosts[work.unit.target]
        place = DomainPlace(host, host.machine(work.unit.uuid or ""), self._adapters)
        made = work.at(place, DomainTransaction)
        trial = _trial(made)
        if trial is None:
            return made
        work.at_end.append(lambda result: trial.note_outcome(result.outcome, undone=result.undone))
        return replace(made, place=place._replace(trial=trial))

    def _elsewhere(self, unit: UnitRequest) -> str | None:
        """The URI of another host of this run that has the domain; None if no such host is
        known."""
        for target, host in tuple(self._hosts.items()):
            if target == unit.target or host.key == self._hosts[unit.target].key:
                continue
            with suppress(ActionError):
                host.machine(unit.uuid or "")
                return target
        return None

    def _looked_at(self, unit: UnitRequest, transaction: DomainTransaction) -> UnitState:
        machine, reading = self._machine(unit), self._adapters.texts.reading
        defined = reading.definition_of(machine.definition(secrets=False), transaction.target)
        if missing := unmet(defined, transaction.nic_changes):
            return UnitState(
                unit.name, "differs", f"the definition has been changed since: {'; '.join(missing)}"
            )
        if not machine.state().active:
            return UnitState(unit.name, "waiting", "it is off: in effect at its next start")
        if unmet(
            reading.definition_of(machine.live(), transaction.target), transaction.nic_changes
        ):
            return UnitState(unit.name, "waiting", _WAITS)
        place = DomainPlace(self._hosts[unit.target], machine, self._adapters)
        now, hot = GuestBefore(agent=place.agent.answers()), transaction.mode == "hotswap"
        checks = DomainChecks(place, transaction.nic_changes, now, hot=hot).results().checks
        bad = failed(checks)
        return UnitState(unit.name, "differs" if bad else "in-effect", bad, checks)


def _trial(work: DomainWork) -> Trial | None:
    """The trial of a guest; None if the guest is not interrupted, as there is nothing to
    measure."""
    transaction = work.transaction
    if work.trials is None or not transaction.active or transaction.mode == "next-boot":
        return None
    host, uuid = work.place.host, transaction.uuid or ""
    return GuardedTrial(
        work.trials(work.folder, work.unit.key, host, uuid, transaction.macs), work.tell
    )


DOMAIN = Kind(
    "domain",
    DomainUnit,
    _key,
    _unit,
    DomainDriver,
    may_move=True,
    bench=True,
)
"""Domains of live hosts."""


# The driver for definitions in files, which are replaced as a whole.


_MOST = 64 << 20
"""Maximum size of a file of definitions, in bytes."""


def _key_file(step: FileUnitStep) -> str:
    return f"file-{short_digest(step.unit.path.encode(), 24)}"


def _unit_file(key: str, steps: tuple[FileUnitStep, ...]) -> UnitRequest:
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
        transaction = begin.of(FileTransaction)
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
    _key_file,
    _unit_file,
    FileDriver,
    is_text=True,
    bench=True,  # accepted: a file has no running guest to measure
)
"""Definitions in files of this machine."""
