"""Stop a server and start it. Nova answers before it has done either, so its progress is followed.

Sources, Nova 34.0.0: ``stop``, ``start`` and ``_hard_reboot`` in nova/compute/api.py (allowed
states; ``task_state`` is saved before the answer); ``stop_instance``, ``start_instance`` and
``reverts_task_state`` in nova/compute/manager.py (if it fails, the state is as before).
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.errors import ActionError, GuestError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.applying.clouds.server_state import Phase, current_server, follow, phase
from vnicaudit.remedy.applying.clouds.work import CloudWork
from vnicaudit.remedy.applying.journal.events import Started, Starting, Stopped, Stopping
from vnicaudit.remedy.applying.journal.journal_file import seconds_since

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
    state = _ready(work)
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
    _note_started(work)


def _ready(work: CloudWork) -> ServerState:
    """The server's state once Nova has finished working on it."""
    state = current_server(work)
    return follow(work, "on") if phase(state) == "busy" else state


def _note_started(work: CloudWork) -> None:
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
    except SilentError:
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
