"""Make a definition the persistent one, and check what libvirt made of it."""

from __future__ import annotations

from contextlib import suppress

from vnicaudit.errors import ActionError, KeptError
from vnicaudit.remedy.applying.domains.definition_transactions import DomainTransaction, unmet
from vnicaudit.remedy.applying.domains.place import DomainWork, kept_definition
from vnicaudit.remedy.applying.journal.events import Defined, Defining
from vnicaudit.remedy.applying.verifying import wait_for_late
from vnicaudit.remedy.digests import digest


class EditedError(ActionError):
    """Somebody else has changed the definition meanwhile, so it is not touched."""

    def __init__(self) -> None:
        super().__init__(
            "somebody else changed the definition in the meantime: their change was kept"
        )


def define(work: DomainWork) -> None:
    """Define the goal if the definition is as it was before; do nothing if it is the goal already.
    Raises EditedError if it is neither, ActionError if libvirt refuses the goal, or accepts it and
    stores something else, KeptError if the saved text cannot be trusted."""
    now = work.place.machine.definition(secrets=True)
    before, goal = kept_definition(work, "before"), kept_definition(work, "goal")
    as_before = work.place.texts.likeness.equal_but_controllers(now, before)
    if as_before and before != goal:
        work.notes.write(Defining())
        work.place.machine.define(goal)
        now = work.place.machine.definition(secrets=True)
    elif not as_before and not is_ours(work.transaction, before, goal, now, work):
        raise EditedError
    if before not in (goal, now):
        _note(work, now, goal)  # first, so that it is recognised as this run's own
    _check(work, before, goal, now)


def _note(work: DomainWork, now: bytes, goal: bytes) -> None:
    noted = work.notes.last(Defined)
    if noted is None or noted.settled != digest(now):
        work.notes.write(Defined(work.texts.keep_settled(now, goal)))


def is_unanswered(work: DomainWork) -> bool:
    """True if libvirt was asked to define the goal, and its answer was not noted: it refused, or
    the run was interrupted."""
    asked = work.notes.latest(Defining, Defined)
    return asked is not None and isinstance(asked.event, Defining)


def undefine(work: DomainWork, *, late: bool = False) -> bool:
    """Restore the definition from before; returns False if that was not necessary. ``late``: an
    interrupted run asked for the goal, which may be stored only now. Raises EditedError if the
    definition is neither that nor what this run made of it, ActionError if it could not be restored
    exactly, KeptError if the saved text cannot be trusted."""
    now = work.place.machine.definition(secrets=True)
    before, goal = kept_definition(work, "before"), kept_definition(work, "goal")
    if late:
        now = _settled(work, before, now)
    if work.place.texts.likeness.equal_but_controllers(now, before):
        return False
    if not is_ours(work.transaction, before, goal, now, work):
        raise EditedError
    work.place.machine.define(before)
    unlike = work.place.texts.likeness.unlike(before, work.place.machine.definition(secrets=True))
    if unlike:
        raise ActionError(f"the restored definition differs from the original: {_few(unlike)}")
    return True


def made_otherwise(work: DomainWork) -> str:
    """A sentence on how libvirt rearranged the controllers of a definition that was to be restored
    exactly; empty if it did not."""
    if not work.transaction.exact or work.notes.last(Defined) is None:
        return ""
    try:
        words = work.place.texts.likeness.rearranged(
            kept_definition(work, "goal"), kept_definition(work, "settled")
        )
    except KeptError:
        return ""  # this message is all that is lost: the definition is restored and checked
    return f"libvirt {words}: every device is as it was, at its address" if words else ""


def _settled(work: DomainWork, before: bytes, now: bytes) -> bytes:
    """The definition, after waiting for the one that may be stored only now."""

    def is_stored() -> bool:
        nonlocal now
        now = work.place.machine.definition(secrets=True)
        return not work.place.texts.likeness.equal_but_controllers(now, before)

    wait_for_late(work.clock, is_stored)
    return now


def is_ours(
    transaction: DomainTransaction, before: bytes, goal: bytes, now: bytes, work: DomainWork
) -> bool:
    """True if ``now``, which differs from the definition before the run, was made by this run:
    recognised by its text or digest or, where the program ended before it could note that, by
    having the goal's changes and no others."""
    settled = work.notes.last(Defined)
    if work.place.texts.likeness.equal_but_controllers(now, goal) or (
        settled is not None and _is_settled(now, settled, work)
    ):
        return True
    if settled is not None:
        return False
    return not (
        unmet(
            work.place.texts.reading.definition_of(now, transaction.target), transaction.nic_changes
        )
        or work.place.texts.reading.other_changes(before, now, transaction.macs)
    )


def _is_settled(now: bytes, settled: Defined, work: DomainWork) -> bool:
    """True if ``now`` is the definition that libvirt made of the goal. The saved text matters only
    if libvirt has reread it since and returned it in a different order."""
    if settled.settled == digest(now):
        return True
    with suppress(KeptError):
        return work.place.texts.likeness.equal_but_controllers(
            now, kept_definition(work, "settled")
        )
    return False


def _few(clauses: tuple[str, ...]) -> str:
    return "; ".join(clauses[:5])


def _check(work: DomainWork, before: bytes, goal: bytes, now: bytes) -> None:
    transaction = work.transaction
    unlike = work.place.texts.likeness.unlike(goal, now) if transaction.exact else ()
    if unlike:
        raise ActionError(f"the restored definition differs from the saved one: {_few(unlike)}")
    missing = unmet(
        work.place.texts.reading.definition_of(now, transaction.target), transaction.nic_changes
    )
    if now != goal:
        missing += work.place.texts.reading.other_changes(goal, now, transaction.macs)
        for mac in transaction.macs:
            missing += work.place.texts.reading.missing_parts(goal, now, mac)
    if missing and now != before:
        raise ActionError(f"accepted but not applied by libvirt: {'; '.join(missing[:5])}")
    if missing:
        raise ActionError(f"the definition is not as planned: {'; '.join(missing[:5])}")
