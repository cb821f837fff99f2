"""What a unit of a cloud works with, and looking at a server with patience."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from vnicaudit.errors import GoneError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.applying.clouds.nodes import Nodes
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.means import Limits, Notes
from vnicaudit.remedy.cloud import Cloud
from vnicaudit.remedy.server_states import way_on

POLL = 1.0
STILL = 5.0
"""Seconds after which a server that was asked to do something, and shows no sign of it, is taken
not to do it. Nova notes what it was asked before it answers (``task_state`` in
nova/compute/api.py), but a request that was cut off may come late, and a copy of its database may
lag."""

Phase = Literal["on", "off", "shelved", "error", "busy", "other"]
_PHASES: dict[str, Phase] = {
    "active": "on", "stopped": "off", "shelved": "shelved", "shelved_offloaded": "shelved",
    "error": "error", "shutoff": "off",
}  # fmt: skip

_DELETED = ("SOFT_DELETED", "DELETED")
"""Of ``status``: nova/api/openstack/common.py (Nova 34.0.0)."""


class CloudMeans(NamedTuple):
    """All that a unit of a cloud works with."""

    cloud: Cloud
    manage: Manage
    nodes: Nodes
    task: CloudTask
    notes: Notes
    limits: Limits
    tell: Callable[[str], None]


def phase(state: ServerState) -> Phase:
    """What a server does. ``busy``: Nova is at work on it."""
    if state.task_state is not None:
        return "busy"
    return _PHASES.get((state.vm_state or state.status).lower(), "other")


def there(state: ServerState, target: str) -> ServerState:
    """The same. Raises GoneError where it is deleted, and Nova will only remove it later
    (``reclaim_instance_interval``)."""
    if state.status in _DELETED:
        raise GoneError(
            f"it is deleted ({state.status}; while it is not removed, "
            f"{way_on('SOFT_DELETED', state.id, target)} brings it back)"
        )
    return state


def look(means: CloudMeans) -> ServerState:
    """The server as it is now. A cloud that does not answer is asked again for as long as a guest
    may be away: it may be restarted. Raises SilentError then, GoneError where it was deleted."""
    end = time.monotonic() + means.limits.guest_deadline
    while True:
        try:
            return there(means.cloud.server(means.task.id), means.task.target)
        except SilentError:
            if time.monotonic() > end:
                raise
        time.sleep(STILL)


def follow(means: CloudMeans, wanted: Phase, *, still: float = STILL) -> ServerState:
    """The server when it has come to what was wanted, when Nova has stopped working on it without,
    or when the guest's time is up."""
    end = time.monotonic() + means.limits.guest_deadline
    since: float | None = None
    while True:
        state = look(means)
        now = phase(state)
        if now == wanted:
            return state
        moment = time.monotonic()
        if now == "busy":
            since = None
        elif since is None:
            since = moment
        if moment > end or (since is not None and moment - since >= still):
            return state
        time.sleep(POLL)
