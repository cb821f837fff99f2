"""What changes guests of an inventory, by a command: the smallest driver there can be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.platforms.example.inventory import INVENTORY, KIND, PREFIX
from tests.platforms.example.write import models_in
from vnicaudit.errors import ActionError, GoneError
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content
from vnicaudit.model.plan import Mode, ObjectUnit, UnitStep
from vnicaudit.model.refs import mac_of
from vnicaudit.model.runs import Check, Verdict
from vnicaudit.remedy.applying.domains.preflight import check_owner
from vnicaudit.remedy.applying.driver import Kind, Prepared, PrepareRequest, UndoRequest, UnitState
from vnicaudit.remedy.applying.journal.events import Begin, Set, Setting, Undoing
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.transaction import NicChanges, Transaction, transaction_of
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.verifying import CheckResults, failed, verify
from vnicaudit.remedy.applying.work import BegunUnit, UnitWork
from vnicaudit.remedy.digests import short_digest
from vnicaudit.remedy.unit_refusal import UnitRefusedError

NICCTL = Path(__file__).parent / "nicctl.py"

Command = Callable[[str, str, str], None]
"""Sets in a file, of a NIC, the model. Raises ActionError."""


class InventoryTransaction(Transaction, frozen=True, kw_only=True):
    """What is to be of the NICs of a guest. Nothing here tells which: the line says it that begins
    it."""

    inventory: str


InventoryWork = UnitWork[None, InventoryTransaction]
"""There is nothing to reach a file by."""


def nicctl(path: str, mac: str, model: str) -> None:
    """Run the command."""
    ran = subprocess.run(
        [sys.executable, str(NICCTL), path, mac, model], capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise ActionError(f"nicctl: {ran.stderr.strip()}")


InventoryStep = UnitStep[ObjectUnit]


def inventory_kind(command: Command = nicctl) -> Kind[ObjectUnit]:
    """Guests of inventories, each a unit."""

    def driver(session: Session) -> InventoryDriver:
        return InventoryDriver(session, command)

    return Kind(KIND, ObjectUnit, _key, _unit, driver)


def models_of(path: str) -> dict[str, str]:
    """MAC -> model. Raises GoneError where there is no such file."""
    try:
        return models_in(Path(path).read_bytes())
    except FileNotFoundError:
        raise GoneError(f"there is no {path}") from None


def guests_of(path: str) -> Iterator[Domain]:
    """The guests of an inventory, as they are now."""
    data = Path(path).read_bytes() if Path(path).exists() else b""
    items = INVENTORY.read(Content(data, path, path))
    return (item for item in items if isinstance(item, Domain))


def _key(step: InventoryStep) -> str:
    return f"{KIND}-{short_digest(f'{step.target} {step.unit.id}'.encode(), 24)}"


def _unit(key: str, steps: tuple[InventoryStep, ...]) -> UnitRequest:
    first, ids = steps[0], tuple(one.id for one in steps)
    macs = tuple(mac_of(one.about) or "" for one in steps)
    name, path = first.about.name or "", first.target.removeprefix(PREFIX)
    return UnitRequest(key, name, first.target, ids, macs, KIND, first.unit.id, path)


class InventoryDriver:
    """Changes guests in their inventory."""

    def __init__(self, session: Session, command: Command) -> None:
        self._session = session
        self._command = command

    def check(self, unit: UnitRequest) -> None:
        """Nothing is dialled."""

    def open(self, unit: UnitRequest) -> None:
        """Keep other runs away."""
        self._session.hold(unit.target, unit.file or "")

    def prepare(
        self, unit: UnitRequest, steps: tuple[InventoryStep, ...], request: PrepareRequest
    ) -> Prepared:
        """What the steps want, where it is not so. The plan has the owner's name alone: what it
        does with its guests, the inventory says."""
        for guest in guests_of(unit.file or ""):
            if unit.uuid in (guest.uuid, guest.name):
                check_owner(guest)
        wanted = tuple(
            NicChanges(at, at + 1, mac_of(step.about) or "", step.changes)
            for at, step in enumerate(steps)
        )
        return self._prepared(unit, request.mode, wanted, over_edits=False)

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """What it was."""
        transaction = request.transaction(unit, InventoryTransaction)
        wanted = request.select_changes(one.inverse() for one in transaction.nic_changes)
        return self._prepared(unit, request.mode, wanted, over_edits=request.over_edits)

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """No text is kept: the way back."""
        return self.prepare_undo(unit, request)

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """Whether something was done to it."""
        return run.has_begun(unit.key)

    def forward(self, work: BegunUnit) -> Result:
        """Set what is not so yet."""
        mine = work.at(None, InventoryTransaction)
        try:
            self._set(mine, mine.transaction.nic_changes)
        except ActionError as error:
            return self._undone(work, Undoing(str(error), "failed"))
        checks = verify(work, lambda: _look(mine.transaction))
        if reason := failed(checks):
            return self._undone(work, Undoing(reason, "rolled-back"))
        return Result("applied", checks=checks)

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Set what was."""
        mine = work.at(None, InventoryTransaction)
        self._set(mine, tuple(one.inverse() for one in reversed(mine.transaction.nic_changes)))
        return Result(undoing.outcome, f"{undoing.reason}; it was put back")

    def verify(self, unit: UnitRequest, begin: Begin, back: Mapping[str, str]) -> UnitState:
        """What the file says now."""
        models = models_of(unit.file or "")
        for one in transaction_of(begin, InventoryTransaction).nic_changes:
            if one.mac not in back and models.get(one.mac) != one.changes[0].new:
                return UnitState(unit.name, "differs", f"{one.mac} is {models.get(one.mac)}")
        return UnitState(unit.name, "in-effect")

    def explain(self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool) -> Result:
        """Its file is not there."""
        del unit, begun, dry_run
        return Result("gone", str(error))

    def _prepared(
        self, unit: UnitRequest, mode: Mode, wanted: tuple[NicChanges, ...], *, over_edits: bool
    ) -> Prepared:
        models = models_of(unit.file or "")
        if all(models.get(one.mac) == one.changes[0].new for one in wanted):
            return Prepared(None)
        if not over_edits and any(models.get(one.mac) != one.changes[0].old for one in wanted):
            raise UnitRefusedError("somebody changed it since", "edited")
        transaction = InventoryTransaction(
            unit.key, unit.name, unit.target, unit.steps, mode, wanted,
            inventory=unit.file or "",
        )  # fmt: skip
        return Prepared(transaction, keeps_texts=False)

    def _undone(self, work: BegunUnit, undoing: Undoing) -> Result:
        work.notes.write(undoing)
        return self.undo(work, undoing)

    def _set(self, work: InventoryWork, wanted: tuple[NicChanges, ...]) -> None:
        path = work.transaction.inventory
        for one in wanted:
            model = one.changes[0].new
            if models_of(path).get(one.mac) != model:
                work.notes.write(Setting({one.mac: model}))
                self._command(path, one.mac, model or "")
                work.notes.write(Set())


def _look(transaction: InventoryTransaction) -> CheckResults:
    """The model of each NIC; nothing changes by itself."""
    models = models_of(transaction.inventory)
    checks = (_check(one, models.get(one.mac)) for one in transaction.nic_changes)
    return CheckResults(tuple(checks), over=True)


def _check(wanted: NicChanges, model: str | None) -> Check:
    verdict: Verdict = "ok" if model == wanted.changes[0].new else "failed"
    return Check("model", verdict, f"{wanted.mac} is {model}")
