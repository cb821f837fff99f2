"""The state of a server, asked for again while its cloud does not answer."""

from __future__ import annotations

from typing import Literal

from vnicaudit.errors import GoneError, SilentError
from vnicaudit.knowledge.fixes.nova_states import way_on
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.applying.clouds.work import CloudPlace, CloudWork

POLL = 1.0
STILL = 5.0
"""Seconds after which a server that shows no sign of a requested action is taken not to do it. Nova
records a request before it answers (``task_state`` in nova/compute/api.py), but a request that was
cut off may arrive late, and a replica of its database may lag."""

Phase = Literal["on", "off", "shelved", "error", "busy", "other"]
_PHASES: dict[str, Phase] = {
    "active": "on", "stopped": "off", "shelved": "shelved", "shelved_offloaded": "shelved",
    "error": "error", "shutoff": "off",
}  # fmt: skip

_DELETED = ("SOFT_DELETED", "DELETED")
"""Values of ``status``: nova/api/openstack/common.py (Nova 34.0.0)."""


def phase(state: ServerState) -> Phase:
    """The power phase of a server; ``busy`` while Nova is at work on it."""
    if state.task_state is not None:
        return "busy"
    return _PHASES.get((state.vm_state or state.status).lower(), "other")


def not_deleted(state: ServerState, target: str) -> ServerState:
    """The server's ``state``, unchanged. Raises GoneError if the server is deleted and Nova will
    only remove it later (``reclaim_instance_interval``)."""
    if state.status in _DELETED:
        raise GoneError(
            f"it is deleted ({state.status}; while it is not removed, "
            f"{way_on('SOFT_DELETED', state.id, target)} brings it back)"
        )
    return state


def current_server(work: CloudWork) -> ServerState:
    """The present state of the server, asked for as long as its guest may be down. Raises as
    :func:`read_server` does."""
    return read_server(work.place, work.transaction, work.limits.guest_deadline)


def read_server(place: CloudPlace, transaction: CloudTransaction, patience: float) -> ServerState:
    """The present state of the server. A cloud that does not answer, maybe because it is being
    restarted, is asked again for ``patience`` seconds. Raises SilentError after that, GoneError if
    the server was deleted."""
    clock = place.adapters.clock
    end = clock.monotonic() + patience
    while True:
        try:
            return not_deleted(place.cloud.server(transaction.id), transaction.target)
        except SilentError:
            if clock.monotonic() > end:
                raise
        clock.sleep(STILL)


def follow(work: CloudWork, wanted: Phase, *, still: float = STILL) -> ServerState:
    """The server once it has reached the wanted phase, once Nova has stopped working on it without
    reaching it, or when the guest's time is up."""
    end = work.clock.monotonic() + work.limits.guest_deadline
    since: float | None = None
    while True:
        state = current_server(work)
        now = phase(state)
        if now == wanted:
            return state
        moment = work.clock.monotonic()
        if now == "busy":
            since = None
        elif since is None:
            since = moment
        if moment > end or (since is not None and moment - since >= still):
            return state
        work.clock.sleep(POLL)
