"""Change one server: stop it, set the properties, start it, check; or undo the change.

Every step first checks the present state and does only what is missing, so that an interrupted run
can be resumed. Above all, a server that ran when the transaction started runs when it ends: it is
started even if its properties cannot be restored. A server that somebody else stopped before this
run did is left to them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GuestError, NoResponseError, VnicauditError
from vnicaudit.knowledge.fixes.nova import way_on
from vnicaudit.model.runs import Outcome, ServerState
from vnicaudit.remedy.applying.clouds import stored_properties
from vnicaudit.remedy.applying.clouds.nova_manage import doubtful
from vnicaudit.remedy.applying.clouds.stored_properties import (
    Phase,
    ServerChecks,
    current_server,
    follow,
    phase,
    read_server,
    verify_server,
)
from vnicaudit.remedy.applying.clouds.transaction import (
    CloudPlace,
    CloudTransaction,
    CloudWork,
    ObjectState,
)
from vnicaudit.remedy.applying.driver import ENDS_THE_WORK, failed
from vnicaudit.remedy.applying.history import may_be_off, seconds_off
from vnicaudit.remedy.applying.journal.events import (
    Result,
    Set,
    Settled,
    Started,
    Starting,
    Stopped,
    Stopping,
    Undoing,
)
from vnicaudit.remedy.applying.journal.journal_file import seconds_since

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
    except ENDS_THE_WORK:
        raise
    except StoppedError as error:
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
    work.tell("undoing the change")
    return undo(work, reason, outcome)


def undo(work: CloudWork, reason: str, outcome: Outcome) -> Result:
    """Undo the change. Reports what cannot be undone, with what to do about it."""
    left, changed = [], False
    try:
        changed = _put_back(work)
    except ENDS_THE_WORK:
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
    check_ours(work, settle(work))
    if stored_properties.is_missing(
        work, stored_properties.read_stored(work), work.transaction.goal
    ):
        if not work.place.manage.proven:  # an interrupted run has checked; none is stopped in vain
            work.place.manage.show(work.transaction.id, next(iter(work.transaction.goal)))
        stop(work)
        stored_properties.store(work, work.transaction.goal)
    if work.transaction.active:
        run(work)


def _put_back(work: CloudWork) -> bool:
    """Restore the server's stored properties; True if any had to be restored. A running server
    is stopped for it only after nova-manage has been seen to work."""
    settle(work)
    stored_properties.settle(work)
    now, back = stored_properties.read_stored(work), work.transaction.back
    if not stored_properties.is_missing(work, now, back):
        return False
    if not stored_properties.is_ours(work, now):
        raise stored_properties.ForeignError(stored_properties.differing(now, back))
    work.place.manage.show(work.transaction.id, next(iter(back)))
    stop(work)
    stored_properties.store(work, back)
    return True


def _running_again(work: CloudWork) -> list[str]:
    """Get the server running if it ran before and this run stopped it. Returns what went wrong."""
    if not is_touched(work):
        return []
    try:
        run(work)
    except ENDS_THE_WORK:
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
    except ENDS_THE_WORK:
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
    words = [work.transaction.caution]
    if not work.transaction.active:
        shelved = phase(current_server(work)) == "shelved"
        words.insert(0, f"in effect when it is {'unshelved' if shelved else 'started'}")
    return "; ".join(filter(None, words))


def verify(place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
    """``(state, detail, checks)`` of a server now. Raises ActionError if they cannot be
    determined."""
    checks = ServerChecks(place, transaction).current()
    if bad := failed(checks):
        return "differs", bad, checks
    state = read_server(place, transaction, 0.0)
    now, way = phase(state), way_on(state.status, state.id, transaction.target)
    if now == "error":
        return "differs", f"the server is {state.status}: {way}", checks
    if now == "busy":
        return "waiting", f"Nova is working on it ({state.task_state}): check again later", checks
    if now == "on":
        return "in-effect", "", checks
    if transaction.active:
        way = way or transaction.command("server start")
        return "differs", f"the server was running before, and is now {state.status}: {way}", checks
    return "waiting", "the server is not running: in effect at its next start", checks


# Stop a server and start it. Nova answers before it has done either, so its progress is followed.
#
# Sources, Nova 34.0.0: ``stop``, ``start`` and ``_hard_reboot`` in nova/compute/api.py (allowed
# states; ``task_state`` is saved before the answer); ``stop_instance``, ``start_instance`` and
# ``reverts_task_state`` in nova/compute/manager.py (if it fails, the state is as before).


_LANDS_SECONDS = 10.0
"""Seconds within which a request that was cut off has reached Nova, or never will."""
_TRIES = 2
"""How often Nova may accept a start and fail: a server that it could not start twice, it cannot
start."""
_LOCKED = "is locked"
"""``InstanceIsLocked`` in nova/exception.py."""
_RAN = "ACTIVE"


class StoppedError(ActionError):
    """A server that ran when the transaction started is off, and the transaction did not stop
    it."""

    def __init__(self) -> None:
        super().__init__(
            "somebody else stopped it meanwhile, or another run is working on it: it was not "
            "changed and will not be started"
        )


def is_touched(work: CloudWork) -> bool:
    """True if the transaction has to get the server running again: it asked for the server to be
    stopped, or an earlier run left it off."""
    stopped = work.notes.last(Stopping) is not None
    return work.transaction.active and (stopped or work.transaction.state != _RAN)


def check_ours(work: CloudWork, state: ServerState) -> None:
    """Raises StoppedError if somebody else stopped the server since the transaction started."""
    off = phase(state) in ("off", "shelved")
    if off and work.transaction.active and not is_touched(work):
        raise StoppedError


def settle(work: CloudWork) -> ServerState:
    """Wait for requests to the server from an interrupted run or from somebody else to finish."""
    asked = work.notes.latest(Stopping, Stopped, Starting, Started)
    if asked is not None and isinstance(asked.event, (Stopping, Starting)):
        wanted: Phase = "off" if isinstance(asked.event, Stopping) else "on"
        left = _LANDS_SECONDS - seconds_since(asked)
        return follow(work, wanted, still=max(0.0, left))
    return follow(work, "on", still=0.0)


def stop(work: CloudWork) -> None:
    """Shut the server down: its guest is asked, and after Nova's own time (``shutdown_timeout``, 60
    s unless nova.conf or the image says otherwise) it is powered off. Raises GuestError if it is
    not off then, or if it was off when the transaction started and somebody started it since;
    StoppedError if somebody else stopped it."""
    state = follow(work, "off", still=0.0)
    check_ours(work, state)
    if phase(state) in ("off", "shelved"):
        return
    if not work.transaction.active:
        raise GuestError("somebody started it meanwhile, and this run does not stop it")
    work.notes.write(Stopping())
    work.tell("stopping (Nova powers it off if its guest has not shut down after 60 s)")
    refused = _request(work, work.place.cloud.stop)
    state = follow(work, "off")
    if phase(state) != "off":
        raise GuestError(_not_stopped(work, state, refused))
    work.notes.write(Stopped())


def run(work: CloudWork) -> None:
    """Get the server running: by a start, else by a hard reboot, which Nova accepts from ERROR too.
    Raises GuestError with Nova's message if it cannot be started."""
    end = work.clock.monotonic() + work.limits.guest_deadline
    taken, ways, why = 0, 0, ""
    state = current_server(work)
    if phase(state) == "busy":
        state = follow(work, "on")
    while (now := phase(state)) != "on":
        if now in ("shelved", "other"):
            raise GuestError(f"it is {state.status} now: somebody else is working on it")
        over = taken >= _TRIES or _LOCKED in why or work.clock.monotonic() > end
        if now == "busy" or over:
            raise GuestError(_not_started(work, state, why))
        by_start = now == "off" and ways % 2 == 0
        ways += 1
        work.notes.write(Starting("start" if by_start else "hard reboot"))
        work.tell("starting" if by_start else "starting it with a hard reboot")
        refused = _request(
            work, work.place.cloud.start if by_start else work.place.cloud.hard_reboot
        )
        state = follow(work, "on")
        if phase(state) != "on":
            taken += not refused
            why = refused or _trouble(work)
    asked = work.notes.latest(Stopping, Stopped, Starting, Started)
    if asked is not None and not isinstance(asked.event, Started):
        work.notes.write(Started())


def _request(work: CloudWork, ask: Callable[[str], None]) -> str:
    """Send a request; returns Nova's message if it refuses. The server may change all the same
    (somebody was faster, or an answer was lost): the caller checks its state."""
    try:
        ask(work.transaction.id)
    except ActionError as error:
        return str(error)
    return ""


def _trouble(work: CloudWork) -> str:
    try:
        return work.place.cloud.trouble(work.transaction.id)
    except NoResponseError:
        raise
    except ActionError:
        return ""


def _not_stopped(work: CloudWork, state: ServerState, refused: str) -> str:
    if phase(state) == "busy":
        return (
            f"it was not off after {work.limits.guest_deadline:g} s: Nova is still working on it "
            f"({state.task_state})"
        )
    why = refused or _trouble(work) or f"it is {state.status}"
    return f"Nova did not stop it: {why}"


def _not_started(work: CloudWork, state: ServerState, why: str) -> str:
    words = "server start" if phase(state) == "off" else "server reboot --hard"
    hint = work.transaction.command(words)
    if _LOCKED in why:
        hint = f"{work.transaction.command('server unlock')}, then {hint}"
    if phase(state) == "busy":
        why = f"Nova is still working on it ({state.task_state})"
    why = why or state.fault or "Nova gives no reason"
    return f"the server is {state.status} and could not be started: {why}; start it by hand: {hint}"
