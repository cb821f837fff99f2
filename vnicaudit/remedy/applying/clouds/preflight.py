"""What speaks against changing a server now.

Sources, Nova 34.0.0: ``check_instance_lock`` and ``check_instance_host`` in nova/compute/api.py (an
admin passes a lock; a node that is down keeps the server in its ``task_state`` for ever);
``_update_image_properties`` in nova/cmd/manage.py (allowed states); ``unshelve_instance`` in
nova/conductor/manager.py and ``_unshelve_instance`` in nova/compute/manager.py (an offloaded server
is made anew of its snapshot, with the properties of that, where there is one: not of a server that
boots from a volume). The snapshot is made when it is shelved; nova-compute offloads it later
(``shelved_offload_time``).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import RefusedError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.remedy.applying.clouds.means import phase
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.cloud import Cloud
from vnicaudit.remedy.request_spec import COMES_BACK
from vnicaudit.remedy.server_states import way_on

_NODE_WORKS = ("", "UP", "MAINTENANCE")
_SHUT_DOWN = 4
"""nova/compute/power_state.py."""

_STOPPED = (
    "it changed since the plan was made: it ran then, and is {status} now: somebody stopped it, or "
    "another run is at work on it. Find out who; then {start}, and the same command again, or make "
    "a new plan, by which it stays off"
)
_STARTED = (
    "it changed since the plan was made: it was off then, and runs now, so it would have to be "
    "stopped: make a new plan"
)


def check_release(cloud: Cloud, manage: Manage) -> str:
    """What to know of this Nova when it is done; empty: nothing. Raises RefusedError for one that
    cannot change what it keeps for a server, ActionError where nova-manage cannot be run."""
    newest = cloud.release[1]
    if newest is not None and newest < IMAGE_PROPERTY:
        raise RefusedError(_old(newest))
    release = manage.release()
    if release is not None and release < IMAGE_PROPERTY:
        raise RefusedError(_old(release))
    older = release is not None and release < LASTING
    return f"this is Nova {release}: {COMES_BACK}" if older else ""


def check_server(state: ServerState, task: CloudTask, *, left_off: bool) -> None:
    """Raises RefusedError with everything that speaks against it. ``left_off``: an earlier run left
    it off, maybe in ERROR, and it is to be started."""
    reasons = tuple(_against(state, task, left_off=left_off))
    if reasons:
        raise RefusedError("; ".join(reasons))


def check_power(state: ServerState, task: CloudTask, *, ran: bool | None, so: bool) -> None:
    """Raises RefusedError where a server that ran when the plan was made is off now, or the other
    way round: a restart is what was reviewed, or none. ``ran`` None: that is of no concern; ``so``:
    what is kept is as planned, so that one that runs needs nothing. That it is on another host by
    then is no reason: what is kept went there with it."""
    now = phase(state)
    if ran and now in ("off", "shelved"):
        raise RefusedError(_STOPPED.format(status=state.status, start=task.command("server start")))
    if ran is False and now == "on" and not so:
        raise RefusedError(_STARTED)


def _against(state: ServerState, task: CloudTask, *, left_off: bool) -> Iterator[str]:
    now = phase(state)
    if state.locked:
        reason = f" ({state.locked_reason[:100]})" if state.locked_reason else ""
        unlock = task.command("server unlock")
        yield f"it is locked{reason}: ask who did that, then {unlock}"
    if now == "busy":
        yield f"Nova is at work on it ({state.task_state}): try again when that is done"
    elif now not in ("on", "off", "shelved") and not (left_off and now == "error"):
        way = way_on(state.status, state.id, task.target)
        then = f": {way}, then try again" if way else ": try again when it is ACTIVE or SHUTOFF"
        yield f"it is {state.status}: it neither runs nor is off{then}"
    if now == "on" and state.power_state == _SHUT_DOWN:
        yield "its guest shut itself down, which Nova has not noticed yet: try again in ten minutes"
    if (now == "on" or left_off) and task.mode != "restart":
        yield (
            "Nova sets a property only of a server that is stopped, and this one runs: give --mode "
            "restart"
        )
    if now == "shelved" and state.has_image is not False:
        yield (
            "it is shelved, and unshelving makes it anew of its snapshot, with the properties of "
            f"that: {way_on(state.status, state.id, task.target)} first"
        )
    if state.host_status not in _NODE_WORKS:
        yield (
            f"nova-compute on {state.host or 'its host'} is {state.host_status}: nobody could "
            "start it again"
        )


def _old(release: int) -> str:
    return (
        f"this is Nova {release}, which has no way to change what it keeps for a server: that came "
        f"with {IMAGE_PROPERTY}.0 (Yoga)"
    )
