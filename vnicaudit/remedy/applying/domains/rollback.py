"""Changes that restore a domain to its state before a run, or to its saved original."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from vnicaudit.errors import KeptError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainTransaction,
    FileTransaction,
    unmet,
)
from vnicaudit.remedy.applying.domains.prepare import (
    check_owner,
    check_restart,
    check_state,
    guest_before,
)
from vnicaudit.remedy.applying.driver import Prepared, UndoRequest
from vnicaudit.remedy.applying.journal.events import (
    Defined,
    NicChanges,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.hypervisor import Adapters, Elements, Likeness, Machine
from vnicaudit.remedy.replacing import UnitRefusedError, digest

# The original text of a unit, saved before a run changed the unit.


TextTransaction = TypeVar("TextTransaction", DomainTransaction, FileTransaction)


def original_of(run: PastRun, transaction: DomainTransaction | FileTransaction) -> bytes:
    """The text as it was when the run started. Raises KeptError if the saved text is missing or
    damaged."""
    return KeptTexts(run.folder, transaction.key).get(
        "before", transaction.before, transaction.by_hand()
    )


def kept_original(
    run: PastRun, unit: UnitRequest, kind: type[TextTransaction]
) -> tuple[TextTransaction | None, bytes]:
    """The transaction, where it is known, and the saved original text, which may be all that is
    left."""
    begin, texts = run.begin(unit.key), KeptTexts(run.folder, unit.key)
    if begin is None:
        return None, texts.get("before", None)
    transaction = begin.of(kind)
    return transaction, texts.get("before", transaction.before, transaction.by_hand())


def reversed_transaction(
    transaction: TextTransaction, wanted: tuple[NicChanges, ...], before: bytes, goal: bytes
) -> TextTransaction:
    """The transaction that undoes the changes of these NICs."""
    back = tuple(one.inverse() for one in reversed(wanted))
    return replace(transaction, nic_changes=back, before=digest(before), goal=digest(goal))


def is_made_by(found: PastRun, key: str, current: bytes, likeness: Likeness) -> bool:
    """True if ``current`` is the definition that the run made for this domain."""
    lines = (entry.event for entry in found.of(key))
    made = [event.settled for event in lines if isinstance(event, Defined)]
    if not made or digest(current) in made:
        return bool(made)
    with suppress(KeptError):  # libvirt may return the saved text in a different order
        settled = KeptTexts(found.folder, key).get("settled", made[-1])
        return likeness.equal_but_controllers(current, settled)
    return False


_ONLY_RAN = (
    "the run did not change its definition, and only restarted the guest with it: there is "
    "nothing to put back"
)

ReachMachine = Callable[[], Machine]


class DomainRollback:
    """The rollback of the changes that one run made to domains."""

    def __init__(self, adapters: Adapters, request: UndoRequest) -> None:
        self._adapters = adapters
        self._texts = adapters.texts
        self._request = request
        self._mode: Mode = request.mode

    def prepare(self, unit: UnitRequest, reach: ReachMachine) -> Prepared:
        """The change that reverses what an earlier run did to a domain; without a transaction where
        the domain is already as it was. Raises RefusedError with the reason if it cannot be
        started."""
        transaction = self._request.transaction(unit, DomainTransaction)
        if transaction.before == transaction.goal:
            raise UnitRefusedError(_ONLY_RAN, "whole-only")
        original, machine = original_of(self._request.run, transaction), reach()
        state = machine.state()
        check_state(state, self._mode)
        if state.active and self._mode == "restart":
            check_restart(self._texts.reading.power_off_action(machine.live()))
        wanted = self._request.select_changes(transaction.nic_changes)
        current = machine.definition(secrets=True)
        if self._texts.likeness.equal_but_controllers(current, original):
            original = current  # libvirt chooses the order of controllers
        else:
            self._check_edits(current, transaction.key)
        goal = original
        whole = len(wanted) == len(transaction.nic_changes) and self._is_made(
            self._request.run, transaction, current
        )
        if not whole and current != original:
            goal = _nics_put_back(self._texts.elements, current, original, wanted)
        made = reversed_transaction(transaction, wanted, current, goal)
        seen = guest_before(machine, made.macs, self._mode, self._adapters, active=state.active)
        active = state.active or self._stays_off(transaction)
        if current == goal and not (active and self._mode != "next-boot"):
            return Prepared(None)
        made = replace(made, mode=self._mode, active=active, guest_before=seen, exact=whole)
        return Prepared(made, current, goal)

    def restore(self, unit: UnitRequest, reach: ReachMachine) -> Prepared:
        """The change that restores the whole saved definition."""
        transaction, original = kept_original(self._request.run, unit, DomainTransaction)
        reading, machine = self._texts.reading, reach()
        domain = reading.definition_of(original, unit.target)
        if domain.uuid != unit.uuid:
            raise UnitRefusedError(
                f"the saved original belongs to another domain, {domain.uuid}", "kept-original"
            )
        state = machine.state()
        check_owner(reading.definition_of(machine.definition(secrets=False), unit.target))
        wanted = (
            ()
            if transaction is None
            else tuple(one.inverse() for one in reversed(transaction.nic_changes))
        )
        if unmet(domain, wanted):
            wanted = ()
        mode: Mode = self._mode if wanted else "next-boot"
        check_state(state, mode)
        if state.active and mode == "restart":
            check_restart(reading.power_off_action(machine.live()))
        current = machine.definition(secrets=True)
        left_off = (
            transaction is not None and transaction.active and self._request.run.is_open(unit.key)
        )
        active = state.active or left_off
        macs = tuple(one.mac for one in wanted)
        seen = guest_before(machine, macs, mode, self._adapters, active=state.active)
        is_so = self._texts.likeness.equal_but_controllers(current, original)
        if is_so and not (active and mode != "next-boot"):
            return Prepared(None)
        made = DomainTransaction(
            unit.key, unit.name, unit.target, unit.steps, mode, wanted, active,
            before=digest(current), goal=digest(original), uuid=unit.uuid, guest_before=seen,
            exact=True,
        )  # fmt: skip
        return Prepared(made, current, original)

    def _stays_off(self, transaction: DomainTransaction) -> bool:
        """True if the guest ran before the run and the run could not undo its change, so that
        the guest may be off."""
        done = self._request.run.result(transaction.key)
        return transaction.active and done is not None and not done.undone

    def _check_edits(self, current: bytes, key: str) -> None:
        if self._request.over_edits:
            return
        likeness = self._texts.likeness
        if not any(is_made_by(run, key, current, likeness) for run in self._request.since()):
            raise UnitRefusedError(
                "somebody has changed the definition since: check it (virsh dumpxml --inactive), "
                "then restore only the NIC with --over-edits",
                "edited",
            )

    def _is_made(self, run: PastRun, transaction: DomainTransaction, current: bytes) -> bool:
        return is_made_by(run, transaction.key, current, self._texts.likeness)


def _nics_put_back(
    parts: Elements, current: bytes, original: bytes, wanted: Iterable[NicChanges]
) -> bytes:
    for one in wanted:
        number = parts.interface_number(current, one.mac)
        if number is None:
            raise UnitRefusedError(f"there is no longer exactly one NIC {one.mac}", "edited")
        old = parts.interface_number(original, one.mac)
        if old is None:
            raise UnitRefusedError(
                f"the saved definition does not have exactly one NIC {one.mac}", "kept-original"
            )
        current = parts.with_interface(current, number, parts.interface_of(original, old))
    return current
