"""The transaction that changes a definition: of a domain on a live host, or in a file."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import path_word, uuid_word, word
from vnicaudit.errors import ActionError, SavedTextError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.applying.driver import UnitWork, wait_for_late
from vnicaudit.remedy.applying.journal.events import (
    Defined,
    Defining,
    KeptRunning,
    NicChanges,
    Transaction,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptKind, KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import Adapters, GuestSettings, Hypervisor, Machine, Trial
from vnicaudit.remedy.replacing import digest

_ON_NETWORK = ("network", "bridge", "direct", "ethernet")
"""The types that a running definition may show for a NIC on a network, once libvirt has resolved
it."""


class GuestBefore(msgspec.Struct, frozen=True):
    """The state of a running guest before its change. ``addresses``: MAC -> addresses that its
    agent reports; ``sent``: MAC -> True if the host has seen packets from it."""

    agent: bool = False
    addresses: dict[str, tuple[str, ...]] = {}
    sent: dict[str, bool] = {}


class DefinitionTransaction(Transaction, frozen=True, kw_only=True):
    """The change of a domain on a live host, or of definitions in a file. ``before`` and ``goal``
    are digests of the texts, passwords included, that are saved in the run's folder under the key
    of the unit; if they are equal, only the running guest is to change."""

    before: str
    goal: str
    guest_before: GuestBefore = GuestBefore()
    exact: bool = False
    """The definition is to equal ``goal``, except for the order of controllers: in a rollback."""

    def by_hand(self, unit: UnitRequest) -> str:
        """How to restore its NICs without the saved text: where, and the old values."""
        place = f"virsh -c {word(unit.target)} edit {uuid_word(unit.uuid)}"
        changes = (
            f"{change.field} of {one.mac}: {change.old or 'not set'}"
            for one in self.nic_changes for change in one.changes
        )  # fmt: skip
        return f"{place if unit.file is None else path_word(unit.file)} ({'; '.join(changes)})"


def original_of(run: PastRun, unit: UnitRequest, transaction: DefinitionTransaction) -> bytes:
    """The text as it was when the run started. Raises SavedTextError if the saved text is missing
    or damaged."""
    texts = KeptTexts(run.folder, unit.key)
    return texts.get("before", transaction.before, transaction.by_hand(unit))


def kept_original(run: PastRun, unit: UnitRequest) -> tuple[DefinitionTransaction | None, bytes]:
    """The transaction, where it is known, and the saved original text, which may be all that is
    left."""
    begin = run.begin(unit.key)
    if begin is None:
        return None, KeptTexts(run.folder, unit.key).get("before", None)
    transaction = begin.of(DefinitionTransaction)
    return transaction, original_of(run, unit, transaction)


def reversed_transaction(
    transaction: DefinitionTransaction, before: bytes, goal: bytes
) -> DefinitionTransaction:
    """The transaction that undoes another one, from the text ``before`` to the ``goal``."""
    back = tuple(one.inverse() for one in reversed(transaction.nic_changes))
    return replace(transaction, nic_changes=back, before=digest(before), goal=digest(goal))


def unmet(domain: Domain, wanted: tuple[NicChanges, ...]) -> tuple[str, ...]:
    """Wanted changes that a definition does not contain, one clause each; empty if it contains them
    all."""
    found: list[str] = []
    for one in wanted:
        nic = nic_of(domain, one.mac)
        if nic is None:
            found.append(f"there is no NIC {one.mac}")
            continue
        for change in one.changes:
            if not _is_met(nic, change):
                now = field_text(nic, change.field) or "not set"
                found.append(f"{change.field} of {one.mac} is {now}, not {change.new or 'gone'}")
    return tuple(found)


def nic_of(domain: Domain, mac: str) -> Nic | None:
    """The one NIC with that MAC; None if there is none, or more than one."""
    found = [nic for nic in domain.nics if nic.mac == mac and nic.declared.origin == "interface"]
    return found[0] if len(found) == 1 else None


def runs_with(machine: Machine, target: str, wanted: tuple[NicChanges, ...]) -> bool:
    """True if the running definition contains the wanted changes."""
    return not unmet(definitions.definition_of(machine.live(), target), wanted)


def field_text(nic: Nic, field: str) -> str | None:
    """The value of a field in a NIC's definition, as text; None if it is unset, or unknown to the
    model."""
    value = getattr(nic.declared, field, None)
    return None if value in (None, ()) else str(value)


def _is_met(nic: Nic, change: Change) -> bool:
    if change.field == "address_type" and change.new is None:
        return field_text(nic, "address_type") != change.old  # libvirt assigns a new one
    if not hasattr(nic.declared, change.field):
        return True  # judged by the text of the element, not here
    now = field_text(nic, change.field)
    if change.new is not None and change.new.startswith("<"):
        return now is not None  # in a rollback: an element as it was
    if (change.field, change.new) == ("type", "network"):
        return now in _ON_NETWORK
    return now == change.new


# The connection to a domain, and the services used on it.


class DomainPlace(NamedTuple):
    """A domain, its host, and the platform services for it. ``trial`` measures whether the change
    helps; None: no measurement was requested, or the guest is not interrupted."""

    host: Hypervisor
    machine: Machine
    adapters: Adapters
    trial: Trial | None = None

    @property
    def agent(self) -> GuestAgent:
        """The agent of the guest."""
        return GuestAgent(self.machine, self.adapters.clock)

    @property
    def settings(self) -> GuestSettings:
        """Access to the guest's settings on its interfaces."""
        return self.adapters.settings(self.machine, self.adapters.clock)


DomainWork = UnitWork[DomainPlace, DefinitionTransaction]


def kept_definition(work: DomainWork, kind: KeptKind) -> bytes:
    """The saved definition of that kind. Raises SavedTextError if it is missing or damaged."""
    return work.texts.get(kind, _digest(work, kind), work.transaction.by_hand(work.unit))


def _digest(work: DomainWork, kind: KeptKind) -> str | None:
    """The digest that the journal records of the saved definition of that kind; None if it records
    none."""
    if kind in ("before", "goal"):
        return work.transaction.before if kind == "before" else work.transaction.goal
    if kind == "settled":
        defined = work.notes.last(Defined)
        return None if defined is None else defined.settled
    kept = work.notes.last(KeptRunning)
    return None if kept is None else kept.running


# Make a definition the persistent one, and check what libvirt made of it.


class EditedError(ActionError):
    """Somebody else has changed the definition meanwhile, so it is not touched."""

    def __init__(self) -> None:
        super().__init__(
            "somebody else changed the definition in the meantime: their change was kept"
        )


def define_goal(work: DomainWork) -> None:
    """Define the goal if the definition is as it was before; do nothing if it is the goal already.
    Raises EditedError if it is neither, ActionError if libvirt refuses the goal, or accepts it and
    stores something else, SavedTextError if the saved text cannot be trusted."""
    now = work.place.machine.definition(secrets=True)
    before, goal = kept_definition(work, "before"), kept_definition(work, "goal")
    as_before = definitions.equal_but_controllers(now, before)
    if as_before and before != goal:
        work.notes.write(Defining())
        work.place.machine.define(goal)
        now = work.place.machine.definition(secrets=True)
    elif not as_before and not is_ours(work, before, goal, now):
        raise EditedError
    if before not in (goal, now):
        noted = work.notes.last(Defined)  # first, so that it is recognised as this run's own
        if noted is None or noted.settled != digest(now):
            work.notes.write(Defined(work.texts.keep_settled(now, goal)))
    _check(work, before, goal, now)


def restore_definition(work: DomainWork) -> bool:
    """Restore the definition from before; returns False if that was not necessary. Raises
    EditedError if the definition is neither that nor what this run made of it, ActionError if it
    could not be restored exactly, SavedTextError if the saved text cannot be trusted."""
    before, goal = kept_definition(work, "before"), kept_definition(work, "goal")
    now = b""

    def is_as_before() -> bool:
        nonlocal now
        now = work.place.machine.definition(secrets=True)
        return definitions.equal_but_controllers(now, before)

    if work.notes.pending(Defining, Defined):  # libvirt refused, or may store it only now
        wait_for_late(work.clock, lambda: not is_as_before())
    if is_as_before():
        return False
    if not is_ours(work, before, goal, now):
        raise EditedError
    work.place.machine.define(before)
    unlike = definitions.unlike(before, work.place.machine.definition(secrets=True))
    if unlike:
        raise ActionError(f"the restored definition differs from the original: {_few(unlike)}")
    return True


def made_otherwise(work: DomainWork) -> str:
    """A sentence on how libvirt rearranged the controllers of a definition that was to be restored
    exactly; empty if it did not."""
    if not work.transaction.exact or work.notes.last(Defined) is None:
        return ""
    try:
        words = definitions.rearranged(
            kept_definition(work, "goal"), kept_definition(work, "settled")
        )
    except SavedTextError:
        return ""  # this message is all that is lost: the definition is restored and checked
    return f"libvirt {words}: every device is as it was, at its address" if words else ""


def is_ours(work: DomainWork, before: bytes, goal: bytes, now: bytes) -> bool:
    """True if ``now``, which differs from the definition before the run, was made by this run:
    recognised by its text or digest or, where the program ended before it could note that, by
    having the goal's changes and no others."""
    if definitions.equal_but_controllers(now, goal):
        return True
    transaction, noted = work.transaction, work.notes.last(Defined)
    if noted is not None:
        return is_settled(work.texts, noted.settled, now)
    return not (
        unmet(definitions.definition_of(now, work.unit.target), transaction.nic_changes)
        or definitions.other_changes(before, now, transaction.macs)
    )


def is_settled(texts: KeptTexts, settled: str, now: bytes) -> bool:
    """True if ``now`` is the definition that libvirt made of the goal, with the digest ``settled``.
    The saved text matters only if libvirt has reread it since and returned it in a different
    order."""
    if settled == digest(now):
        return True
    with suppress(SavedTextError):
        return definitions.equal_but_controllers(now, texts.get("settled", settled))
    return False


def _few(clauses: tuple[str, ...]) -> str:
    return "; ".join(clauses[:5])


def _check(work: DomainWork, before: bytes, goal: bytes, now: bytes) -> None:
    transaction = work.transaction
    unlike = definitions.unlike(goal, now) if transaction.exact else ()
    if unlike:
        raise ActionError(f"the restored definition differs from the saved one: {_few(unlike)}")
    missing = unmet(definitions.definition_of(now, work.unit.target), transaction.nic_changes)
    if now != goal:
        missing += definitions.other_changes(goal, now, transaction.macs)
        for mac in transaction.macs:
            missing += definitions.missing_parts(goal, now, mac)
    if missing and now != before:
        raise ActionError(f"accepted but not applied by libvirt: {'; '.join(missing[:5])}")
    if missing:
        raise ActionError(f"the definition is not as planned: {'; '.join(missing[:5])}")
