"""Steps of a plan -> a task, after a look at what is there now. Nothing is changed here."""

from __future__ import annotations

import re
import uuid

from msgspec.structs import replace

from vnicaudit.errors import RefusedError
from vnicaudit.model.plan import CloudPart, Mode, Step
from vnicaudit.model.server import MODEL, MULTIQUEUE, PACKED
from vnicaudit.remedy.applying.clouds import kept
from vnicaudit.remedy.applying.clouds.place import Place
from vnicaudit.remedy.applying.clouds.prepare_server import ServerRequest, prepare_server
from vnicaudit.remedy.applying.clouds.task import CloudTask, Properties
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud.properties import diff

_SPACE = uuid.UUID("0d7f3c0e-5b0f-5d4a-9a55-7d1f5c7f1b0a")
"""Of the ids of flavors that are made here."""
_OFF_IS = {MULTIQUEUE: "false", PACKED: "false"}
"""What comes to the same as a property that is not set, which nova-manage cannot make of it:
``get_vif_multiqueue_constraint`` and ``get_packed_virtqueue_constraint`` in nova/virt/hardware.py
(Nova 34.0.0). A flavor that says otherwise would stand in the way of the change as well."""
_OF_IMAGES = re.compile(r"(hw_[a-z0-9_]{1,90}|os_distro|os_type|os_version)")
"""Properties of images that are set here; ``os_hidden``, for one, is another thing."""
_DRIFT = "it changed since the plan was made: make a new plan"


def prepare(
    steps: tuple[Step, ...],
    place: Place,
    mode: Mode,
    key: str,
    *,
    left_off: bool,
    again: bool = False,
) -> CloudTask | None:
    """The task of the steps on one server, image or flavor; None: all of it is so already.
    ``left_off``: an earlier run of this plan stopped the server, and did not start it. ``again``:
    an earlier run may have set it by half. Raises
    RefusedError with why it is not begun, ActionError where it cannot be told."""
    first = steps[0]
    part = first.cloud
    if part is None or len(steps) > 1:
        raise RefusedError("the plan has to have one step for it, which says what to set")
    _check_step(first, part)
    task = CloudTask(
        key, first.nic.domain or first.nic.uuid or "", first.target, (first.id,), part.object,
        first.nic.uuid or "", mode, dict(part.old), dict(part.properties), dict(part.old),
    )  # fmt: skip
    if part.object == "image":
        return prepare_image(task, place)
    if part.object == "flavor":
        return _prepare_flavor(replace(task, copy_name=part.new_name), place)
    task = replace(task, back=_back(part, first), again=again)
    request = ServerRequest(task, part.macs, left_off, ran=first.running)
    return prepare_server(request, place)


def prepare_image(task: CloudTask, place: Place) -> CloudTask | None:
    """The task of one image. Raises RefusedError, ActionError."""
    for name in task.goal:
        if _OF_IMAGES.fullmatch(name) is None:
            raise RefusedError(f"{name[:60]!r} is no property that bears on a NIC: it is not set")
    found = place.cloud.image_properties(task.id)
    now: Properties = {name: found.get(name) for name in task.goal}
    if now == task.goal:
        return None
    if now != task.before:
        raise RefusedError(f"{_DRIFT} ({kept.differing(now, task.before) or 'in spelling'})")
    return task


def _prepare_flavor(task: CloudTask, place: Place) -> CloudTask | None:
    """The copy's id is made of what it is a copy of: the same is found again, not made twice."""
    if not task.copy_name:
        raise RefusedError("the plan does not say what the new flavor is called")
    found = place.cloud.flavor(task.id)
    if found is None:
        raise RefusedError("there is no such flavor any more")
    drift = [name for name in task.goal if found.properties.get(name) != task.before.get(name)]
    if drift:
        raise RefusedError(f"{_DRIFT} ({', '.join(drift)})")
    made_of = (place.cloud.key, task.id, task.copy_name, repr(sorted(task.goal.items())))
    task = replace(task, copy=str(uuid.uuid5(_SPACE, "\n".join(made_of))))
    copy = place.cloud.flavor(task.copy)
    if copy is not None and all(copy.properties.get(name) == task.goal[name] for name in task.goal):
        return None
    return task


def _check_step(step: Step, part: CloudPart) -> None:
    """Raises RefusedError where a step would do something else than was reviewed."""
    name = step.nic.domain or step.nic.uuid or ""
    if set(part.old) != set(part.properties) or not part.properties:
        raise RefusedError(f"step {step.id}: what it sets is not what it was made from")
    made_from = kept_digest(part.object, step.nic.uuid, part.old)
    if made_from != step.digest or diff(name, part.old, part.properties) != step.diff:
        raise RefusedError(
            f"step {step.id}: what is to be changed is not what its diff shows: make a new plan"
        )


def _back(part: CloudPart, step: Step) -> Properties:
    """What the way back sets. Raises RefusedError where there would be none."""
    return {name: _value_back(name, value, step) for name, value in part.old.items()}


def _value_back(name: str, value: str | None, step: Step) -> str:
    if value is not None:
        return value
    runs = [change.old for change in step.changes if change.field in ("model", name) and change.old]
    found = _OFF_IS.get(name) or (runs[0] if name == MODEL and runs else None)
    if found is None:
        raise RefusedError(
            f"{name} is not set, and cannot be unset again: there would be no way back "
            "(nova-manage has no command for it). Set it to what it is in effect first"
        )
    return found
