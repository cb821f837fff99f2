"""One server as it is now -> a task, or why it is not begun. Nothing is changed here."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, RefusedError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import as_flag
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

_FIELDS = {"hw_vif_model": "model", "hw_virtio_packed_ring": "packed"}
_HAS_MODEL = ("bridge", "ethernet", "network", "vhostuser")
"""Types of NICs to which Nova gives the model that is kept (nova/virt/libvirt/vif.py)."""


class Asked(NamedTuple):
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


def prepare_server(asked: Asked, place: Place) -> CloudTask | None:
    """The task of one server. Raises RefusedError, ActionError."""
    task = asked.task
    check_words(task.id, task.goal)
    check_words(task.id, task.back)
    state = there(place.cloud.server(task.id))
    check_server(state, task.mode, left_off=asked.left_off)
    caution = check_release(place.cloud, place.manage)
    now = _now(state, place, task)
    so = not kept.differing(now, task.goal)
    if not asked.left_off:
        check_power(state, ran=asked.ran, so=so)
    active = phase(state) == "on" or asked.left_off
    if so:
        if (phase(state) == "on" or not active) and not task.again:
            return None
    elif (drift := kept.differing(now, task.before)) and not asked.over_edits:
        raise RefusedError(f"{asked.drifted} ({drift})")
    shown, wanted = _seen(asked, state, place)
    return replace(
        task, before=now, active=active, state=state.status, shown=shown, wanted=wanted,
        shared=_shared(asked, place) if active else (), caution=caution,
    )  # fmt: skip


def _shared(asked: Asked, place: Place) -> tuple[str, ...]:
    """Volumes that other servers have too, of a server that is to be stopped and started. Raises
    RefusedError where one cannot be looked at: who else has it is not known, and Nova may not
    be able to start the server with it (``refresh_connection_info`` in nova/virt/block_device.py,
    Nova 34.0.0, asks Cinder for each). One that was left off is started all the same."""
    try:
        return place.cloud.shared_volumes(asked.task.id)
    except (SilentError, GoneError):
        raise
    except ActionError as error:
        if asked.left_off:
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


def _seen(asked: Asked, state: ServerState, place: Place) -> tuple[Shown, tuple[Wanted, ...]]:
    """What a server shows before anything is done, and what is to be of its NICs."""
    if phase(state) != "on":
        return Shown(), ()
    shown = shown_by(place.cloud, state.id)
    try:
        node = place.nodes.of(state)
        if isinstance(node, str):
            return shown, ()
        wanted = _wanted(node, asked)
        macs = tuple(one.mac for one in wanted)
        domain = seen_before(node.machine, macs, "restart", active=True)
    except ActionError:  # it can be done without, and is said when it is verified
        return shown, ()
    return replace(shown, domain=domain), wanted


def _wanted(node: Node, asked: Asked) -> tuple[Wanted, ...]:
    task = asked.task
    domain = reading().definition_of(node.machine.live(), node.host.uri)
    found = []
    for nic in domain.nics:
        if nic.mac is None or nic.declared.type not in _HAS_MODEL:
            continue
        if not asked.macs or nic.mac in asked.macs:
            found.append(Wanted(nic.index, nic.index + 1, nic.mac, _changes(task)))
    return tuple(found)


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
