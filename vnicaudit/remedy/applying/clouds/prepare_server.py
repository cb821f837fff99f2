"""One server as it is now -> a task, or why it is not begun. Nothing is changed here."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, RefusedError, SilentError
from vnicaudit.model.backends import KEPT_MODEL
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.server import MODEL, PACKED
from vnicaudit.remedy.applying.clouds import kept
from vnicaudit.remedy.applying.clouds.means import phase, there
from vnicaudit.remedy.applying.clouds.nodes import Node
from vnicaudit.remedy.applying.clouds.nova_manage import check_words
from vnicaudit.remedy.applying.clouds.place import Place
from vnicaudit.remedy.applying.clouds.preflight import check_power, check_release, check_server
from vnicaudit.remedy.applying.clouds.task import CloudTask, Properties, Shown
from vnicaudit.remedy.applying.clouds.verify import shown_by
from vnicaudit.remedy.applying.prepare import seen_before
from vnicaudit.remedy.applying.task import Wanted
from vnicaudit.remedy.definitions import reading

_FIELDS = {MODEL: "model", PACKED: "packed"}


class ServerRequest(NamedTuple):
    """What is asked for: ``goal`` in the place of ``before``, and ``back`` where that is to be
    undone. ``macs``: of the NICs that it is about; none: of all."""

    task: CloudTask
    macs: tuple[str, ...] = ()
    left_off: bool = False
    """An earlier run of this stopped the server, and left it off."""
    over_edits: bool = False
    drifted: str = "it changed since the plan was made: make a new plan"
    ran: bool | None = None
    """Whether it ran when the plan was made; None: that is of no concern, as on a way back."""


def prepare_server(request: ServerRequest, place: Place) -> CloudTask | None:
    """The task of one server. Raises RefusedError, ActionError."""
    task = request.task
    check_words(task.id, task.goal)
    check_words(task.id, task.back)
    state = there(place.cloud.server(task.id), task.target)
    check_server(state, task, left_off=request.left_off)
    caution = check_release(place.cloud, place.manage)
    now = _now(state, place, task)
    so = not kept.differing(now, task.goal)
    if not request.left_off:
        check_power(state, task, ran=request.ran, so=so)
    active = phase(state) == "on" or request.left_off
    if so:
        if (phase(state) == "on" or not active) and not task.again:
            _check_runs(request, state, place)
            return None
    elif (drift := kept.differing(now, task.before)) and not request.over_edits:
        raise RefusedError(f"{request.drifted} ({drift})")
    shown, wanted = _seen(request, state, place)
    return replace(
        task, before=now, active=active, state=state.status, shown=shown, wanted=wanted,
        shared=_shared(request, place) if active else (), caution=caution,
    )  # fmt: skip


def _check_runs(request: ServerRequest, state: ServerState, place: Place) -> None:
    """Raises RefusedError where Nova keeps the model, and the NIC that runs has another one, as far
    as its host can be looked at. Seen with Nova 29.0.2: a resize writes the XML from the request
    specification, which a change by nova-manage did not reach (Launchpad bug 2078999)."""
    goal = request.task.goal.get(MODEL)
    if goal is None or phase(state) != "on":
        return
    try:
        node = place.nodes.of(state)
        nics = () if isinstance(node, str) else _concerned(node, request)
    except ActionError:  # as where it cannot be looked at
        return
    for nic in nics:
        if not kept.same(MODEL, nic.declared.model, goal):
            raise RefusedError(
                f"Nova keeps {MODEL}={goal} for it already, and {nic.mac} runs as "
                f"{nic.declared.model or 'no model'}: Nova writes it anew at a hard reboot: "
                f"{request.task.command('server reboot --hard')}"
            )


def _shared(request: ServerRequest, place: Place) -> tuple[str, ...]:
    """Volumes that other servers have too, of a server that is to be stopped and started. Raises
    RefusedError where one cannot be looked at: who else has it is not known, and Nova may not
    be able to start the server with it (``refresh_connection_info`` in nova/virt/block_device.py,
    Nova 34.0.0, asks Cinder for each). One that was left off is started all the same."""
    try:
        return place.cloud.shared_volumes(request.task.id)
    except (SilentError, GoneError):
        raise
    except ActionError as error:
        if request.left_off:
            return ()
        raise RefusedError(str(error)) from None


def _now(state: ServerState, place: Place, task: CloudTask) -> Properties:
    """What is kept, and that the nova-manage at hand is one of this cloud and works: otherwise a
    server would be stopped for nothing."""
    now = kept.current(state, place.manage, task.goal)
    if state.kept is None or not (place.thorough or not place.manage.proven):
        return now
    name = next(iter(task.goal))
    said = place.manage.show(task.id, name)
    if not kept.same(name, said, now[name]):
        raise ActionError(
            f"Nova's API says {name} is {now[name]}, nova-manage says {said}: is it the controller "
            "of another cloud?"
        )
    return now


def _seen(
    request: ServerRequest, state: ServerState, place: Place
) -> tuple[Shown, tuple[Wanted, ...]]:
    """What a server shows before anything is done, and what is to be of its NICs."""
    if phase(state) != "on":
        return Shown(), ()
    shown = shown_by(place.cloud, state.id)
    try:
        node = place.nodes.of(state)
        if isinstance(node, str):
            return shown, ()
        wanted = _wanted(node, request)
        macs = tuple(one.mac for one in wanted)
        domain = seen_before(node.machine, macs, "restart", active=True)
    except ActionError:  # it can be done without, and is said when it is verified
        return shown, ()
    return replace(shown, domain=domain), wanted


def _wanted(node: Node, request: ServerRequest) -> tuple[Wanted, ...]:
    changes = _changes(request.task)
    return tuple(
        Wanted(nic.index, nic.index + 1, nic.mac, changes)
        for nic in _concerned(node, request)
        if nic.mac is not None
    )


def _concerned(node: Node, request: ServerRequest) -> tuple[Nic, ...]:
    """The NICs of the domain that runs that get the model that is kept, and are asked for."""
    domain = reading().definition_of(node.machine.live(), node.host.uri)
    return tuple(
        nic
        for nic in domain.nics
        if nic.mac is not None
        and nic.declared.type in KEPT_MODEL
        and (not request.macs or nic.mac in request.macs)
    )


def _changes(task: CloudTask) -> tuple[Change, ...]:
    return tuple(
        Change(_FIELDS[name], _in_model(name, task.back[name]), _in_model(name, value), safe=True)
        for name, value in task.goal.items()
        if name in _FIELDS
    )


def _in_model(name: str, value: str | None) -> str | None:
    if _FIELDS[name] == "packed":
        return "on" if as_flag(value or "") else None
    return value
