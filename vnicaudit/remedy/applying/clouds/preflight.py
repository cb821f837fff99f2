"""Reasons to refuse changing a server now.

Sources, Nova 34.0.0: ``check_instance_lock`` and ``check_instance_host`` in nova/compute/api.py (an
admin passes a lock; a node that is down keeps the server in its ``task_state`` for ever);
``_update_image_properties`` in nova/cmd/manage.py (allowed states); ``unshelve_instance`` in
nova/conductor/manager.py and ``_unshelve_instance`` in nova/compute/manager.py (an offloaded server
is rebuilt from its snapshot, with the snapshot's properties, if there is one: there is none for a
server that boots from a volume). The snapshot is made when the server is shelved; nova-compute
offloads it later (``shelved_offload_time``).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.fixes.nova_states import COMES_BACK, way_on
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.reasons import RefusalCode
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.applying.clouds.server_state import phase
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.cloud import Cloud
from vnicaudit.remedy.unit_refusal import UnitRefusedError

_NODE_WORKS = ("", "UP", "MAINTENANCE")
_SHUT_DOWN = 4
"""nova/compute/power_state.py."""

_STOPPED = (
    "it was running when the plan was made, and is {status} now: somebody stopped it, or another "
    "run is working on it. Find out who; then run {start} and repeat the command, or make a new "
    "plan, which leaves it off"
)
_STARTED = (
    "it was off when the plan was made, and is running now, so it would have to be stopped: make "
    "a new plan"
)


def check_release(cloud: Cloud, manage: Manage) -> str:
    """A caution about this release of Nova, to be shown when the change is done; empty: none.
    Raises RefusedError for a release that cannot change the properties it stores for a server,
    ActionError if nova-manage cannot be run."""
    newest = cloud.release[1]
    if newest is not None and newest < IMAGE_PROPERTY:
        raise UnitRefusedError(_old(newest), "nova-release")
    release = manage.release()
    if release is not None and release < IMAGE_PROPERTY:
        raise UnitRefusedError(_old(release), "nova-release")
    older = release is not None and release < LASTING
    return f"this is Nova {release}: {COMES_BACK}" if older else ""


def check_server(
    state: ServerState, transaction: CloudTransaction, *, was_interrupted: bool
) -> None:
    """Raises RefusedError with all objections. ``was_interrupted``: an earlier run left the server
    off, maybe in ERROR, and it is to be started."""
    reasons = tuple(_against(state, transaction, was_interrupted=was_interrupted))
    if reasons:
        codes = dict.fromkeys(code for code, _ in reasons)
        raise UnitRefusedError("; ".join(text for _, text in reasons), *codes)


def check_power(
    state: ServerState, transaction: CloudTransaction, *, ran: bool | None, so: bool
) -> None:
    """Raises RefusedError if a server that ran when the plan was made is off now, or the other way
    round, as the plan was reviewed for a restart, or for none. ``ran`` None: not checked. ``so``:
    the stored properties are as planned already, so a running server needs nothing. A move to
    another host since then is no objection: the stored properties went with the server."""
    now = phase(state)
    if ran and now in ("off", "shelved"):
        raise UnitRefusedError(
            _STOPPED.format(status=state.status, start=transaction.command("server start")), "power"
        )
    if ran is False and now == "on" and not so:
        raise UnitRefusedError(_STARTED, "power")


def _against(
    state: ServerState, transaction: CloudTransaction, *, was_interrupted: bool
) -> Iterator[tuple[RefusalCode, str]]:
    now = phase(state)
    if state.locked:
        reason = f" ({state.locked_reason[:100]})" if state.locked_reason else ""
        unlock = transaction.command("server unlock")
        yield "locked", f"it is locked{reason}: ask who locked it, then {unlock}"
    if now == "busy":
        yield "busy", f"Nova is working on it ({state.task_state}): try again when that is done"
    elif now not in ("on", "off", "shelved") and not (was_interrupted and now == "error"):
        way = way_on(state.status, state.id, transaction.target)
        then = f": {way}, then try again" if way else ": try again when it is ACTIVE or SHUTOFF"
        yield "state", f"it is {state.status}, neither running nor off{then}"
    if now == "on" and state.power_state == _SHUT_DOWN:
        yield (
            "state",
            "its guest has shut down, but Nova has not noticed yet: try again in ten minutes",
        )
    if (now == "on" or was_interrupted) and transaction.mode != "restart":
        yield (
            "mode",
            (
                "Nova can set a property only while the server is stopped, and it is running: "
                "use --mode restart"
            ),
        )
    if now == "shelved" and state.has_image is not False:
        yield (
            "shelved",
            (
                "it is shelved, and unshelving rebuilds it from its snapshot, with the "
                f"snapshot's properties: run {way_on(state.status, state.id, transaction.target)} "
                "first"
            ),
        )
    if state.host_status not in _NODE_WORKS:
        yield (
            "node-down",
            (
                f"nova-compute on {state.host or 'its host'} is {state.host_status}: it could not "
                "be started again"
            ),
        )


def _old(release: int) -> str:
    return (
        f"this is Nova {release}, which cannot change what it keeps for a server: that needs "
        f"{IMAGE_PROPERTY}.0 (Yoga) or later"
    )
