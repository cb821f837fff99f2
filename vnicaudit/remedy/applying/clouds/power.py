"""Stop a server and start it. Nova does both behind its answer, so what it does is followed.

Sources, Nova 34.0.0: ``stop``, ``start`` and ``_hard_reboot`` in nova/compute/api.py (allowed
states; ``task_state`` is saved before the answer); ``stop_instance``, ``start_instance`` and
``reverts_task_state`` in nova/compute/manager.py (where it fails, the state is as before).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from vnicaudit.errors import ActionError, GuestError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.applying.clouds.means import CloudMeans, Phase, follow, look, phase
from vnicaudit.remedy.applying.journal import seconds_since

_LANDS_SECONDS = 10.0
"""In which a request that was cut off has come to Nova, or never does."""
_TRIES = 2
"""How often Nova may take a start on and fail: what it could not start twice it cannot start."""
_LOCKED = "is locked"
"""``InstanceIsLocked`` in nova/exception.py."""
_RAN = "ACTIVE"


class StoppedError(ActionError):
    """A server that ran when this began is off, and it was not this that stopped it."""

    def __init__(self) -> None:
        super().__init__(
            "somebody else stopped it meanwhile, or another run is at work on it: nothing is "
            "changed, and it is not started"
        )


def is_touched(means: CloudMeans) -> bool:
    """Whether it is for this to have the server run: it has asked for it to be stopped, or an
    earlier run left it off."""
    stopped = means.notes.latest("stopping") is not None
    return means.task.active and (stopped or means.task.state != _RAN)


def check_ours(means: CloudMeans, state: ServerState) -> None:
    """Raises StoppedError where somebody else stopped it since this began."""
    off = phase(state) in ("off", "shelved")
    if off and means.task.active and not is_touched(means):
        raise StoppedError


def settle(means: CloudMeans) -> ServerState:
    """Wait for what an earlier life of the program, or somebody else, asked of the server."""
    asked = means.notes.latest("stopping", "stopped", "starting", "started")
    if asked is not None and asked.event in ("stopping", "starting"):
        wanted: Phase = "off" if asked.event == "stopping" else "on"
        left = _LANDS_SECONDS - seconds_since(asked)
        return follow(means, wanted, still=max(0.0, left))
    return follow(means, "on", still=0.0)


def stop(means: CloudMeans) -> None:
    """Have it shut down: its guest is asked, and after Nova's own time (``shutdown_timeout``, 60 s
    unless nova.conf or the image says otherwise) it is powered off. Raises GuestError where it is
    not off then, and for one that was off when this began: somebody started it since; StoppedError
    where somebody else stopped it."""
    state = follow(means, "off", still=0.0)
    check_ours(means, state)
    if phase(state) in ("off", "shelved"):
        return
    if not means.task.active:
        raise GuestError("somebody started it meanwhile, and it is not stopped for this")
    means.notes.write("stopping")
    means.tell("stopping (Nova powers it off if its guest has not shut down after 60 s)")
    refused = _asked(means, means.cloud.stop)
    state = follow(means, "off")
    if phase(state) != "off":
        raise GuestError(_not_stopped(means, state, refused))
    means.notes.write("stopped")


def run(means: CloudMeans) -> None:
    """Have it run: by a start, else by a hard reboot, which Nova also takes from ERROR. Raises
    GuestError with what Nova says, where it is not to be had."""
    end = time.monotonic() + means.limits.guest_deadline
    taken, ways, why = 0, 0, ""
    state = _ready(means)
    while (now := phase(state)) != "on":
        if now in ("shelved", "other"):
            raise GuestError(f"it is {state.status} by now: somebody else is at work on it")
        over = taken >= _TRIES or _LOCKED in why or time.monotonic() > end
        if now == "busy" or over:
            raise GuestError(_not_started(means, state, why))
        by_start = now == "off" and ways % 2 == 0
        ways += 1
        means.notes.write("starting", by="start" if by_start else "hard reboot")
        means.tell("starting" if by_start else "starting by a hard reboot")
        refused = _asked(means, means.cloud.start if by_start else means.cloud.hard_reboot)
        state = follow(means, "on")
        if phase(state) != "on":
            taken += not refused
            why = refused or _trouble(means)
    _note_started(means)


def _ready(means: CloudMeans) -> ServerState:
    """As it is when Nova is not at work on it."""
    state = look(means)
    return follow(means, "on") if phase(state) == "busy" else state


def _note_started(means: CloudMeans) -> None:
    asked = means.notes.latest("stopping", "stopped", "starting", "started")
    if asked is not None and asked.event != "started":
        means.notes.write("started")


def _asked(means: CloudMeans, ask: Callable[[str], None]) -> str:
    """Ask for something; what Nova says where it does not take it. Whether it does it all the same
    (somebody was faster, an answer was lost) is seen by looking."""
    try:
        ask(means.task.id)
    except ActionError as error:
        return str(error)
    return ""


def _trouble(means: CloudMeans) -> str:
    try:
        return means.cloud.trouble(means.task.id)
    except SilentError:
        raise
    except ActionError:
        return ""


def _not_stopped(means: CloudMeans, state: ServerState, refused: str) -> str:
    if phase(state) == "busy":
        return (
            f"it was not off within {means.limits.guest_deadline:g} s: Nova is still at work on it "
            f"({state.task_state})"
        )
    why = refused or _trouble(means) or f"it is {state.status}"
    return f"Nova did not stop it: {why}"


def _not_started(means: CloudMeans, state: ServerState, why: str) -> str:
    words = "server start" if phase(state) == "off" else "server reboot --hard"
    hint = means.task.command(words)
    if _LOCKED in why:
        hint = f"{means.task.command('server unlock')}, then {hint}"
    if phase(state) == "busy":
        why = f"Nova is still at work on it ({state.task_state})"
    why = why or state.fault or "Nova says nothing of why"
    return f"the server is {state.status} and could not be started: {why}; start it by hand: {hint}"
