"""The present state of one server -> a transaction, or the reason why none is started. Nothing is
changed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, NoResponseError
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.knowledge.fixes.nova import COMES_BACK, way_on
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import MODEL, MULTIQUEUE, PACKED, as_flag
from vnicaudit.model.plan import ServerUnit, Step
from vnicaudit.model.runs import Outcome, ServerState
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.applying.clouds import server, stored_properties
from vnicaudit.remedy.applying.clouds.nova_manage import Manage, NodeDomain, check_words
from vnicaudit.remedy.applying.clouds.stored_properties import not_deleted, phase, server_before
from vnicaudit.remedy.applying.clouds.transaction import (
    CloudDriver,
    CloudPlace,
    CloudRequest,
    CloudTransaction,
    CloudWork,
    ObjectState,
    ServerBefore,
)
from vnicaudit.remedy.applying.domains.checks import guest_before
from vnicaudit.remedy.applying.domains.prepare import Refusal, refuse_for
from vnicaudit.remedy.applying.journal.events import (
    NicChanges,
    Properties,
    Result,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.hypervisor import Cloud
from vnicaudit.remedy.replacing import UnitRefusedError

# Reasons to refuse changing a server now.
#
# Sources, Nova 34.0.0: ``check_instance_lock`` and ``check_instance_host`` in nova/compute/api.py
# (an admin passes a lock; a node that is down keeps the server in its ``task_state`` for ever);
# ``_update_image_properties`` in nova/cmd/manage.py (allowed states); ``unshelve_instance`` in
# nova/conductor/manager.py and ``_unshelve_instance`` in nova/compute/manager.py (an offloaded
# server is rebuilt from its snapshot, with the snapshot's properties, if there is one: there is
# none for a server that boots from a volume). The snapshot is made when the server is shelved;
# nova-compute offloads it later (``shelved_offload_time``).


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
    refuse_for(_against(state, transaction, was_interrupted=was_interrupted))


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
) -> Iterator[Refusal]:
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


_FIELDS = {MODEL: "model", PACKED: "packed"}
_OFF_IS = {MULTIQUEUE: "false", PACKED: "false"}
"""Values that mean the same as an unset property, as nova-manage cannot unset one:
``get_vif_multiqueue_constraint`` and ``get_packed_virtqueue_constraint`` in nova/virt/hardware.py
(Nova 34.0.0). A flavor that says otherwise would block the change as well."""


def prepare_server(request: CloudRequest, place: CloudPlace) -> CloudTransaction | None:
    """The transaction of one server. Raises RefusedError, ActionError."""
    transaction = request.transaction
    check_words(transaction.id, transaction.goal)
    check_words(transaction.id, transaction.back)
    state = not_deleted(place.cloud.server(transaction.id), transaction.target)
    check_server(state, transaction, was_interrupted=request.was_left_off)
    caution = check_release(place.cloud, place.manage)
    now = _now(state, place, transaction)
    so = not stored_properties.differing(now, transaction.goal)
    if not request.was_left_off:
        ran = None if request.step is None else request.step.running
        check_power(state, transaction, ran=ran, so=so)
    active = phase(state) == "on" or request.was_left_off
    if so:
        if (phase(state) == "on" or not active) and not transaction.again:
            _check_runs(request, state, place)
            return None
    elif (drift := stored_properties.differing(now, transaction.before)) and not request.over_edits:
        raise request.drifted(drift)
    shown, wanted = _before(request, state, place)
    return replace(
        transaction, before=now, active=active, state=state.status,
        server_before=shown, nic_changes=wanted,
        shared=_shared_volumes(request, place) if active else (), caution=caution,
        start=transaction.command("server start"),
    )  # fmt: skip


def _check_runs(request: CloudRequest, state: ServerState, place: CloudPlace) -> None:
    """Raises RefusedError if Nova stores the wanted model already but the running NIC has another
    one, as far as its host can be checked. Seen with Nova 29.0.2: a resize writes the XML from the
    request specification, which a change by nova-manage did not reach (Launchpad bug 2078999)."""
    goal = request.transaction.goal.get(MODEL)
    if goal is None or phase(state) != "on":
        return
    try:
        nics = _concerned(place.nodes.of(state), request)
    except ActionError:  # treated as unknown, as if its host could not be checked
        return
    for nic in nics:
        if not stored_properties.means_the_same(MODEL, nic.declared.model, goal):
            raise UnitRefusedError(
                f"Nova already keeps {MODEL}={goal} for it, but {nic.mac} runs as "
                f"{nic.declared.model or 'no model'}: a hard reboot makes Nova rewrite it: "
                f"{request.transaction.command('server reboot --hard')}",
                "state",
            )


def _shared_volumes(request: CloudRequest, place: CloudPlace) -> tuple[str, ...]:
    """Volumes that other servers have attached too, of a server that is to be stopped and started.
    Raises RefusedError if a volume cannot be checked: its other users are unknown, and Nova may not
    be able to start the server with it (``refresh_connection_info`` in nova/virt/block_device.py,
    Nova 34.0.0, asks Cinder for each). A server that was left off is started all the same."""
    try:
        return place.cloud.shared_volumes(request.transaction.id)
    except (NoResponseError, GoneError):
        raise
    except ActionError as error:
        if request.was_left_off:
            return ()
        raise UnitRefusedError(str(error), "unreadable") from None


def _now(state: ServerState, place: CloudPlace, transaction: CloudTransaction) -> Properties:
    """The values that Nova stores now for the properties to be changed. Raises ActionError if
    nova-manage fails or contradicts the API, as on the controller of another cloud: the server
    would be stopped for nothing."""
    now = stored_properties.current(state, place.manage, transaction.goal)
    if state.stored_properties is None or not (place.thorough or not place.manage.proven):
        return now
    name = next(iter(transaction.goal))
    said = place.manage.show(transaction.id, name)
    if not stored_properties.means_the_same(name, said, now[name]):
        raise ActionError(
            f"{name} is {now[name]} in Nova's API, but {said} in nova-manage: is that the "
            "controller of another cloud?"
        )
    return now


def _before(
    request: CloudRequest, state: ServerState, place: CloudPlace
) -> tuple[ServerBefore, tuple[NicChanges, ...]]:
    """``(state, NIC changes)`` of a server before its change; both are empty if it is not
    running, and the changes also where its domain cannot be read."""
    if phase(state) != "on":
        return ServerBefore(), ()
    shown = server_before(place.cloud, state.id)
    try:
        node = place.nodes.of(state)
        wanted = _nic_changes(node, request)
        macs = tuple(one.mac for one in wanted)
        domain = guest_before(node.machine, macs, "restart", place.adapters.clock, active=True)
    except ActionError:  # not needed to go on; verify reports it
        return shown, ()
    return replace(shown, domain=domain), wanted


def _nic_changes(node: NodeDomain, request: CloudRequest) -> tuple[NicChanges, ...]:
    changes = _changes(request.transaction)
    return tuple(
        NicChanges(nic.index, nic.index + 1, nic.mac, changes)
        for nic in _concerned(node, request)
        if nic.mac is not None
    )


def _concerned(node: NodeDomain, request: CloudRequest) -> tuple[Nic, ...]:
    """The requested NICs of the running domain that get the stored model."""
    domain = definitions.definition_of(node.machine.live(), node.host.uri)
    step = request.step
    macs = request.transaction.macs if step is None else cast(ServerUnit, step.unit).macs
    return tuple(
        nic
        for nic in domain.nics
        if nic.mac is not None and nic.declared.type in KEPT_MODEL and (not macs or nic.mac in macs)
    )


def _changes(transaction: CloudTransaction) -> tuple[Change, ...]:
    return tuple(
        Change(
            _FIELDS[name],
            _in_model(name, transaction.back[name]),
            _in_model(name, value),
            safe=True,
        )
        for name, value in transaction.goal.items()
        if name in _FIELDS
    )


def _in_model(name: str, value: str | None) -> str | None:
    if _FIELDS[name] == "packed":
        return "on" if as_flag(value or "") else None
    return value


def _value_back(name: str, value: str | None, step: Step) -> str:
    if value is not None:
        return value
    runs = [change.old for change in step.changes if change.field in ("model", name) and change.old]
    found = _OFF_IS.get(name) or (runs[0] if name == MODEL and runs else None)
    if found is None:
        raise UnitRefusedError(
            f"{name} is not set, and the change could not be undone, because nova-manage cannot "
            "unset a property. Set it to the value in effect first",
            "nova-manage",
        )
    return found


class ServerDriver(CloudDriver):
    """Changes the properties that Nova stores for servers."""

    kind = "server"
    by_controller = True

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The server, with the NICs that the change affects."""
        first = steps[0]
        unit, name = cast(ServerUnit, first.unit), first.about.name_or_id
        return unit_of(key, steps, cls.kind, name, macs=unit.macs, exclusive=unit.groups)

    def completed(self, request: CloudRequest, place: CloudPlace) -> CloudTransaction | None:
        """The transaction that sets the properties that Nova stores for a server. Raises
        RefusedError if the change could not be undone, ActionError."""
        transaction, step = replace(request.transaction, again=request.in_doubt), request.step
        if step is not None:
            before = transaction.before.items()
            back = {name: _value_back(name, value, step) for name, value in before}
            transaction = replace(transaction, back=back)
        return prepare_server(request._replace(transaction=transaction), place)

    def change(self, work: CloudWork) -> Result:
        """Stop the server, set the properties, start it, check."""
        return server.forward(work)

    def put_back(self, work: CloudWork, reason: str, outcome: Outcome) -> Result:
        """Undo the change."""
        return server.undo(work, reason, outcome)

    def state(self, place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
        """The checks of the server, and what is to be done about it."""
        return server.verify(place, transaction)
