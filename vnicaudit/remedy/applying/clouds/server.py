"""Change one server: stop it, set the properties, start it, check; or undo the change.

Every step first checks the present state and does only what is missing, so that an interrupted run
can be resumed. Above all, a server that ran when the transaction started runs when it ends: it is
started even if its properties cannot be restored. A server that somebody else stopped before this
run did is left to them.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.errors import GoneError, GuestError, VnicauditError
from vnicaudit.knowledge.fixes.nova_states import way_on
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.clouds import power, stored_properties
from vnicaudit.remedy.applying.clouds.checks import ServerChecks, verify_server
from vnicaudit.remedy.applying.clouds.nova_manage_journal import doubtful
from vnicaudit.remedy.applying.clouds.object_actions import ENDS_THE_RUN, ObjectState
from vnicaudit.remedy.applying.clouds.server_state import current_server, phase, read_server
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.applying.clouds.work import CloudPlace, CloudWork
from vnicaudit.remedy.applying.downtime import may_be_off, seconds_off
from vnicaudit.remedy.applying.journal.events import Set, Settled, Starting, Stopping, Undoing
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.verifying import failed

_ENDS_IT = (*ENDS_THE_RUN, GoneError)
"""Errors that end the work on one server at once: nothing can be undone after them."""
_AGAIN = "to try again, repeat the command or use vnicaudit rollback on this run"


def forward(work: CloudWork) -> Result:
    """Change the server as planned, or undo the change if that fails."""
    try:
        began = work.clock.monotonic()
        measured = work.notes.last(Stopping) is None
        _change(work)
        checks = verify_server(work)
        away = measured and work.notes.latest(Stopping, Starting) is not None
        downtime = (
            round(work.clock.monotonic() - began, 2) if away and work.transaction.active else None
        )
    except _ENDS_IT:
        raise
    except power.StoppedError as error:
        return Result("refused", str(error), codes=("power",))
    except stored_properties.ForeignError as error:
        return _restored(work, str(error))
    except VnicauditError as error:
        return begin_undo(work, str(error), "failed")
    if reason := failed(checks):
        return begin_undo(work, reason, "rolled-back")
    return Result("applied", _words(work), checks, downtime)


def begin_undo(work: CloudWork, reason: str, outcome: Outcome) -> Result:
    """Start undoing the change, because of ``reason``; ``outcome`` is the unit's outcome
    afterwards."""
    work.notes.write(Undoing(reason, outcome))
    work.tell(f"undoing: {reason}")
    return undo(work, reason, outcome)


def undo(work: CloudWork, reason: str, outcome: Outcome) -> Result:
    """Undo the change. Reports what cannot be undone, with what to do about it."""
    left, changed = [], False
    try:
        changed = _put_back(work)
    except _ENDS_IT:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _running_again(work)
    left = left or _late(work)
    if left:
        told = [one for one in dict.fromkeys(left) if one != reason] or ["for the same reason"]
        why = f"{reason}; not everything could be undone: {'; '.join(told)} ({_AGAIN})"
        return Result("failed", why, undone=False)
    if doubtful(work.notes.entries()):
        work.notes.write(Settled())
    changed = changed or work.notes.last(Set) is not None
    done = "it was put back" if changed else "nothing was changed"
    reason = "; ".join([reason, done, *_was_away(work)])
    if wrong := _still_wrong(work):
        why = f"{reason}, but the server is not as it was before: {wrong} ({_AGAIN})"
        return Result("failed", why, undone=False)
    return Result(outcome, reason)


def _change(work: CloudWork) -> None:
    power.check_ours(work, power.settle(work))
    if stored_properties.is_missing(
        work, stored_properties.read_stored(work), work.transaction.goal
    ):
        if not work.place.manage.proven:  # an interrupted run has checked; none is stopped in vain
            work.place.manage.show(work.transaction.id, next(iter(work.transaction.goal)))
        power.stop(work)
        stored_properties.store(work, work.transaction.goal)
    if work.transaction.active:
        power.run(work)


def _put_back(work: CloudWork) -> bool:
    """Restore the server's stored properties; True if any had to be restored. A running server
    is stopped for it only after nova-manage has been seen to work."""
    power.settle(work)
    stored_properties.settle(work)
    now, back = stored_properties.read_stored(work), work.transaction.back
    if not stored_properties.is_missing(work, now, back):
        return False
    if not stored_properties.is_ours(work, now):
        raise stored_properties.ForeignError(stored_properties.differing(now, back))
    work.place.manage.show(work.transaction.id, next(iter(back)))
    power.stop(work)
    stored_properties.store(work, back)
    return True


def _running_again(work: CloudWork) -> list[str]:
    """Get the server running if it ran before and this run stopped it. Returns what went wrong."""
    if not power.is_touched(work):
        return []
    try:
        power.run(work)
    except _ENDS_IT:
        raise
    except GuestError as error:  # its message says what to do
        return [str(error)]
    except VnicauditError as error:
        return [str(error), *filter(None, [may_be_off(work.notes.entries())])]
    return []


def _late(work: CloudWork) -> list[str]:
    """Reasons why the restored properties may not last: a late nova-manage that changed them, or an
    error while watching for one; one sentence each. The guest runs meanwhile."""
    try:
        late = stored_properties.came_late(work)
    except _ENDS_IT:
        raise
    except VnicauditError as error:
        return [str(error)]
    return [late] if late else []


def _restored(work: CloudWork, reason: str) -> Result:
    """Somebody else has set the stored properties: the server is only started again."""
    left = _running_again(work)
    return Result("failed", "; ".join([reason, *(left or _was_away(work))]), undone=not left)


def _was_away(work: CloudWork) -> list[str]:
    """A sentence with the seconds for which the run had a restored server off; no sentence where it
    never did."""
    seconds = seconds_off(work.notes.entries())
    return [f"the server was off for it, {seconds:.0f} s from stop to start"] if seconds else []


def _still_wrong(work: CloudWork) -> str:
    """Details of the failed checks of a server that was started again after its properties were
    restored, as one text; empty if none failed."""
    if not work.transaction.active or work.notes.last(Starting) is None:
        return ""
    wanted = tuple(one.inverse() for one in reversed(work.transaction.nic_changes))
    goal = work.transaction.back
    transaction = replace(work.transaction, goal=goal, nic_changes=wanted)
    return failed(verify_server(replace(work, transaction=transaction)))


def _words(work: CloudWork) -> str:
    words = [] if work.transaction.active else [_effect_time(work)]
    return "; ".join([*words, *filter(None, [work.transaction.caution])])


def _effect_time(work: CloudWork) -> str:
    shelved = phase(current_server(work)) == "shelved"
    return f"in effect when it is {'unshelved' if shelved else 'started'}"


def verify(place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
    """``(state, detail, checks)`` of a server now. Raises ActionError if they cannot be
    determined."""
    checks = ServerChecks(place, transaction).current()
    if bad := failed(checks):
        return "differs", bad, checks
    state = read_server(place, transaction, 0.0)
    if phase(state) == "error":
        way = way_on(state.status, state.id, transaction.target)
        return "differs", f"the server is {state.status}: {way}", checks
    if phase(state) == "busy":
        return "waiting", f"Nova is working on it ({state.task_state}): check again later", checks
    if transaction.active and phase(state) != "on":
        way = way_on(state.status, state.id, transaction.target) or transaction.command(
            "server start"
        )
        return "differs", f"the server was running before, and is now {state.status}: {way}", checks
    if phase(state) != "on":
        return "waiting", "the server is not running: in effect at its next start", checks
    return "in-effect", "", checks
