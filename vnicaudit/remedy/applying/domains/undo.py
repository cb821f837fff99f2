"""The way back of one domain that did not come to its goal.

As on the way forward, every step looks first at what is: so an undoing that was ended in the middle
goes on by being done again.
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
"""Nothing can be undone then: nobody answers, it could not be noted, or the domain is not there
any more."""
_STILL = (
    "the change of this run is still in it (to undo only that, roll back this run with "
    "--over-edits)"
)
_AGAIN = "to try again, roll back this run with --mode restart"


def begin_undo(work: DomainWork, reason: str, outcome: Outcome) -> Result:
    """Begin to bring it back, because of ``reason``; ``outcome`` is what becomes of the unit."""
    work.notes.write(Undoing(reason, outcome))
    work.tell(f"undoing: {reason}")
    return undo(work, reason, outcome)


def undo(work: DomainWork, reason: str, outcome: Outcome) -> Result:
    """Back to where it was. What cannot be undone is said, with what to do; what this run took
    away from the guest is given back all the same."""
    changed, left = False, []
    try:
        changed = defining.undefine(work)
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _restored(work, exchange=not left)
    if left:
        why = f"{reason}; not everything could be undone: {'; '.join(left)} ({_AGAIN})"
        return Result("failed", why, undone=False)
    changed = changed or work.notes.last(Defined) is not None
    reason = f"{reason}; {'it was put back' if changed else 'nothing was changed'}"
    if wrong := _still_wrong(work):
        why = f"{reason}, but the guest is not as it was before: {wrong} ({_AGAIN})"
        return Result("failed", why, undone=False)
    return Result(outcome, reason)


def give_back(work: DomainWork, reason: str) -> Result:
    """Somebody else has the definition now: only what this run took away from the guest is given
    back. What this run had changed by then is still in it, and can be taken back by itself."""
    left = _restored(work, exchange=False)
    ours = [_STILL] if _is_in_it(work) else []
    return Result("failed", "; ".join([reason, *ours, *left]), undone=not (ours or left))


def leave_nobody_off(work: DomainWork) -> None:
    """The journal cannot be written any more (a full disk): what this run took from the guest, its
    power or its NIC, is given back without a note. The rest waits until it can be noted."""
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
    """Which definition the guest's NICs are taken from."""
    if transaction.before == transaction.goal:
        return "running" if undoing else "before"
    return "before" if undoing else "settled"


def _is_in_it(work: DomainWork) -> bool:
    """True where a definition edited by somebody else still contains the changes of this run."""
    if work.notes.latest(Defining, Defined) is None:
        return False
    now = work.place.texts.reading.definition_of(
        work.place.machine.definition(secrets=False), work.transaction.target
    )
    return not unmet(now, work.transaction.nic_changes)


def _restored(work: DomainWork, *, exchange: bool) -> list[str]:
    """Have the guest run as before; what went wrong with it. ``exchange``: a NIC that is another
    by now is exchanged as well."""
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
    """Details of the failed checks of a guest that was started, or given its NIC again, by the
    rollback; empty where none failed."""
    transaction = work.transaction
    if work.notes.latest(Starting, Attaching) is None:
        return ""
    if transaction.mode == "restart" and transaction.before == transaction.goal:
        return ""  # there is no definition that says what was before
    return failed(verify_domain(_back(work)))


def _back(work: DomainWork) -> DomainWork:
    wanted = tuple(one.inverse() for one in work.transaction.nic_changes)
    return replace(work, transaction=replace(work.transaction, nic_changes=wanted))
