"""Undo the change of one domain that did not reach its goal.

As when changing it, every step first checks the present state, so an interrupted undo is resumed by
starting it again.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from vnicaudit.errors import GoneError, JournalError, SilentError, VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.domains import defining, hotswap, power
from vnicaudit.remedy.applying.domains.checks import verify_domain
from vnicaudit.remedy.applying.domains.definition_transactions import DomainTransaction, unmet
from vnicaudit.remedy.applying.domains.place import DomainWork
from vnicaudit.remedy.applying.journal.events import (
    Attaching,
    Defined,
    Defining,
    Detaching,
    Starting,
    Stopping,
    Undoing,
)
from vnicaudit.remedy.applying.journal.kept_texts import KeptKind
from vnicaudit.remedy.applying.journal.notes import UnwrittenNotes
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.verifying import failed

CANNOT_BE_UNDONE = (SilentError, JournalError, GoneError)
"""Errors after which nothing can be undone: the host does not answer, an action could not be
recorded, or the domain no longer exists."""
_STILL = "the change of this run is still in it"


def begin_undo(work: DomainWork, reason: str, outcome: Outcome, *, late: bool = False) -> Result:
    """Start undoing the change, because of ``reason``; ``outcome`` is the unit's outcome
    afterwards, ``late``: as for :func:`undo`."""
    work.notes.write(Undoing(reason, outcome))
    work.tell(f"undoing: {reason}")
    return undo(work, reason, outcome, late=late)


def undo(work: DomainWork, reason: str, outcome: Outcome, *, late: bool = False) -> Result:
    """Undo the change. Reports what cannot be undone, with what to do about it; the guest's power
    and NICs are restored even then. ``late``: a definition that an interrupted run asked for may be
    stored only now."""
    changed, left = False, []
    try:
        changed = defining.undefine(work, late=late)
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _restored(work, exchange=not left)
    if left:
        why = f"{reason}; not everything could be undone: {'; '.join(left)} ({_again(work)})"
        return Result("failed", why, undone=False)
    changed = changed or work.notes.last(Defined) is not None
    back = "the change is back in it" if work.rollback_of else "it was put back"
    reason = f"{reason}; {back if changed else 'nothing was changed'}"
    if wrong := _still_wrong(work):
        why = f"{reason}, but the guest is not as it was before: {wrong} ({_again(work)})"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason} ({_again(work)})" if work.rollback_of else reason)


def give_back(work: DomainWork, reason: str) -> Result:
    """Somebody else changed the definition: only restore the guest's power, and the NICs that this
    run detached. Changes of this run that are still in the definition can be rolled back
    separately."""
    left = _restored(work, exchange=False)
    ours = [_STILL] if _is_in_it(work) else []
    if ours and not work.rollback_of:
        ours = [f"{_STILL} (to undo only that: {work.rollback_command('--over-edits')})"]
    return Result("failed", "; ".join([reason, *ours, *left]), undone=not (ours or left))


def _again(work: DomainWork) -> str:
    """How to try to roll the guest back again; a guest that does not shut down, by force."""
    mode = "next-boot" if work.transaction.mode == "next-boot" else "restart"
    force = " --force-off" if power.is_deaf(work) else ""
    return f"to try again: {work.rollback_command(f'--mode {mode}{force}')}"


def leave_nobody_off(work: DomainWork) -> None:
    """The journal cannot be written any more (the disk is full): restore the guest's power and its
    NICs without recording it. Everything else waits until it can be recorded."""
    if work.notes.latest(Stopping, Detaching) is None:
        return
    undoing = work.notes.last(Undoing) is not None
    back = _back(work) if undoing else work
    back = replace(back, notes=UnwrittenNotes(work.notes, work.transaction.key))
    with suppress(VnicauditError):
        if work.transaction.mode == "hotswap" and work.place.machine.state().active:
            hotswap.repair(back, kind=definition_kind(work.transaction, undoing=undoing))
            return
        power.settle(back)
        if work.transaction.active and not work.place.machine.state().active:
            work.tell(
                "the journal cannot be written: starting the guest again, so that it is not "
                "left off"
            )
            power.start(back)


def definition_kind(transaction: DomainTransaction, *, undoing: bool) -> KeptKind:
    """The definition from which the guest's NICs are taken."""
    if transaction.before == transaction.goal:
        return "running" if undoing else "before"
    return "before" if undoing else "settled"


def _is_in_it(work: DomainWork) -> bool:
    """True if a definition edited by somebody else still contains the changes of this run."""
    if work.notes.latest(Defining, Defined) is None:
        return False
    now = work.place.texts.reading.definition_of(
        work.place.machine.definition(secrets=False), work.transaction.target
    )
    return not unmet(now, work.transaction.nic_changes)


def _restored(work: DomainWork, *, exchange: bool) -> list[str]:
    """Get the guest running as before. Returns what went wrong. ``exchange``: also exchange NICs
    that differ from before."""
    try:
        _run_as_before(work, exchange=exchange)
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        return [str(error)]
    return []


def _run_as_before(work: DomainWork, *, exchange: bool) -> None:
    transaction = work.transaction
    if not transaction.active or transaction.mode == "next-boot":
        return
    back = _back(work)
    power.settle(work)
    if not work.place.machine.state().active:
        power.start(back)
    elif transaction.mode == "hotswap":
        kind = definition_kind(transaction, undoing=True)
        (hotswap.swap if exchange else hotswap.repair)(back, kind=kind)
    elif exchange and transaction.before != transaction.goal and power.runs_as_wanted(work):
        power.restart(back)


def _still_wrong(work: DomainWork) -> str:
    """Details of the failed checks of a guest that the rollback started, or whose NIC it restored;
    empty if none failed."""
    transaction = work.transaction
    if work.notes.latest(Starting, Attaching) is None:
        return ""
    if transaction.mode == "restart" and transaction.before == transaction.goal:
        return ""  # no definition shows the state before
    return failed(verify_domain(_back(work)))


def _back(work: DomainWork) -> DomainWork:
    wanted = tuple(one.inverse() for one in work.transaction.nic_changes)
    return replace(work, transaction=replace(work.transaction, nic_changes=wanted))
