"""The present state of one server -> a transaction, or the reason why none is started. Nothing is
changed here."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, SilentError
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.plan import ServerUnit, Step, UnitStep
from vnicaudit.model.reasons import RefusalCode
from vnicaudit.model.server import MODEL, MULTIQUEUE, PACKED
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.clouds import stored_properties
from vnicaudit.remedy.applying.clouds.checks import server_before
from vnicaudit.remedy.applying.clouds.leftovers import Leftovers
from vnicaudit.remedy.applying.clouds.nodes import NodeDomain
from vnicaudit.remedy.applying.clouds.nova_manage import check_words
from vnicaudit.remedy.applying.clouds.object_actions import DRIFT, EDITED
from vnicaudit.remedy.applying.clouds.preflight import check_power, check_release, check_server
from vnicaudit.remedy.applying.clouds.server_state import not_deleted, phase
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction, ServerBefore
from vnicaudit.remedy.applying.clouds.work import CloudPlace
from vnicaudit.remedy.applying.domains.prepare import guest_before
from vnicaudit.remedy.applying.journal.events import Properties
from vnicaudit.remedy.applying.journal.transaction import NicChanges
from vnicaudit.remedy.unit_refusal import UnitRefusedError

_FIELDS = {MODEL: "model", PACKED: "packed"}
_OFF_IS = {MULTIQUEUE: "false", PACKED: "false"}
"""Values that mean the same as an unset property, as nova-manage cannot unset one:
``get_vif_multiqueue_constraint`` and ``get_packed_virtqueue_constraint`` in nova/virt/hardware.py
(Nova 34.0.0). A flavor that says otherwise would block the change as well."""


class ServerRequest(NamedTuple):
    """The requested change of a server. ``transaction``: its ``goal`` replaces ``before``, and
    ``back`` is set if the change is undone; ``macs``: the NICs concerned (none: all)."""

    transaction: CloudTransaction
    macs: tuple[str, ...] = ()
    was_interrupted: bool = False
    """An earlier run of this transaction stopped the server and left it off."""
    over_edits: bool = False
    drift_code: RefusalCode = "drift"
    drifted: str = DRIFT
    ran: bool | None = None
    """True if it ran when the plan was made; None: not checked, as in a rollback."""


def prepare(
    transaction: CloudTransaction,
    step: UnitStep[ServerUnit],
    place: CloudPlace,
    leftovers: Leftovers,
) -> CloudTransaction | None:
    """The transaction that sets the properties of a step on a server; None if nothing is left to
    do. Raises RefusedError if the change could not be undone."""
    back = {name: _value_back(name, value, step) for name, value in transaction.before.items()}
    transaction = replace(transaction, back=back, again=leftovers.in_doubt)
    request = ServerRequest(transaction, step.unit.macs, leftovers.off, ran=step.running)
    return prepare_server(request, place)


def prepare_undo(
    transaction: CloudTransaction, place: CloudPlace, leftovers: Leftovers, *, over_edits: bool
) -> CloudTransaction | None:
    """The transaction that restores the properties Nova stored before the run; None if nothing
    is left to do. Raises RefusedError, ActionError."""
    transaction = replace(transaction, again=leftovers.in_doubt)
    request = ServerRequest(
        transaction, transaction.macs, leftovers.off, over_edits, "edited", EDITED
    )
    return prepare_server(request, place)


def prepare_server(request: ServerRequest, place: CloudPlace) -> CloudTransaction | None:
    """The transaction of one server. Raises RefusedError, ActionError."""
    transaction = request.transaction
    check_words(transaction.id, transaction.goal)
    check_words(transaction.id, transaction.back)
    state = not_deleted(place.cloud.server(transaction.id), transaction.target)
    check_server(state, transaction, was_interrupted=request.was_interrupted)
    caution = check_release(place.cloud, place.manage)
    now = _now(state, place, transaction)
    so = not stored_properties.differing(now, transaction.goal)
    if not request.was_interrupted:
        check_power(state, transaction, ran=request.ran, so=so)
    active = phase(state) == "on" or request.was_interrupted
    if so:
        if (phase(state) == "on" or not active) and not transaction.again:
            _check_runs(request, state, place)
            return None
    elif (drift := stored_properties.differing(now, transaction.before)) and not request.over_edits:
        raise UnitRefusedError(f"{request.drifted} ({drift})", request.drift_code)
    shown, wanted = _before(request, state, place)
    return replace(
        transaction, before=now, active=active, state=state.status,
        server_before=shown, nic_changes=wanted,
        shared=_shared_volumes(request, place) if active else (), caution=caution,
        start=transaction.command("server start"),
    )  # fmt: skip


def _check_runs(request: ServerRequest, state: ServerState, place: CloudPlace) -> None:
    """Raises RefusedError if Nova stores the wanted model already but the running NIC has another
    one, as far as its host can be checked. Seen with Nova 29.0.2: a resize writes the XML from the
    request specification, which a change by nova-manage did not reach (Launchpad bug 2078999)."""
    goal = request.transaction.goal.get(MODEL)
    if goal is None or phase(state) != "on":
        return
    try:
        nics = _concerned(place.nodes.of(state), request, place.adapters)
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


def _shared_volumes(request: ServerRequest, place: CloudPlace) -> tuple[str, ...]:
    """Volumes that other servers have attached too, of a server that is to be stopped and started.
    Raises RefusedError if a volume cannot be checked: its other users are unknown, and Nova may not
    be able to start the server with it (``refresh_connection_info`` in nova/virt/block_device.py,
    Nova 34.0.0, asks Cinder for each). A server that was left off is started all the same."""
    try:
        return place.cloud.shared_volumes(request.transaction.id)
    except (SilentError, GoneError):
        raise
    except ActionError as error:
        if request.was_interrupted:
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
    request: ServerRequest, state: ServerState, place: CloudPlace
) -> tuple[ServerBefore, tuple[NicChanges, ...]]:
    """``(state, NIC changes)`` of a server before its change; both are empty if it is not
    running, and the changes also where its domain cannot be read."""
    if phase(state) != "on":
        return ServerBefore(), ()
    shown = server_before(place.cloud, state.id)
    try:
        node = place.nodes.of(state)
        wanted = _nic_changes(node, request, place.adapters)
        macs = tuple(one.mac for one in wanted)
        domain = guest_before(node.machine, macs, "restart", place.adapters, active=True)
    except ActionError:  # not needed to go on; verify reports it
        return shown, ()
    return replace(shown, domain=domain), wanted


def _nic_changes(
    node: NodeDomain, request: ServerRequest, adapters: Adapters
) -> tuple[NicChanges, ...]:
    changes = _changes(request.transaction)
    return tuple(
        NicChanges(nic.index, nic.index + 1, nic.mac, changes)
        for nic in _concerned(node, request, adapters)
        if nic.mac is not None
    )


def _concerned(node: NodeDomain, request: ServerRequest, adapters: Adapters) -> tuple[Nic, ...]:
    """The requested NICs of the running domain that get the stored model."""
    domain = adapters.texts.reading.definition_of(node.machine.live(), node.host.uri)
    return tuple(
        nic
        for nic in domain.nics
        if nic.mac is not None
        and nic.declared.type in KEPT_MODEL
        and (not request.macs or nic.mac in request.macs)
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
