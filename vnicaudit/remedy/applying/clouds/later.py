"""A server, image or flavor that a run changed, looked at later."""

from __future__ import annotations

from typing import Literal

from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.clouds.means import CloudMeans, look, phase
from vnicaudit.remedy.applying.clouds.place import Place
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.clouds.verify import looked_at as checks_of
from vnicaudit.remedy.applying.means import Limits, Notes
from vnicaudit.remedy.server_states import way_on

Found = tuple[Literal["in-effect", "waiting", "differs"], str, tuple[Check, ...]]


def looked_at(place: Place, task: CloudTask) -> Found:
    """How it is now, and why. Raises ActionError where it cannot be told."""
    if task.object == "image":
        return _image(place, task)
    if task.object == "flavor":
        there = place.cloud.flavor(task.copy) is not None
        if there != task.removes:
            return "in-effect", "", ()
        return "differs", f"the flavor {task.copy_name} is {'there' if there else 'gone'}", ()
    means = CloudMeans(
        place.cloud, place.manage, place.nodes, task, Notes(None, ""),
        Limits(guest_deadline=0.0), lambda _text: None,
    )  # fmt: skip
    checks = checks_of(means)
    bad = "; ".join(check.detail for check in checks if check.verdict == "failed")
    if bad:
        return "differs", bad, checks
    state = look(means)
    if phase(state) == "error":
        way = way_on(state.status, state.id, task.target)
        return "differs", f"the server is {state.status}: {way}", checks
    if phase(state) == "busy":
        return "waiting", f"Nova is at work on it ({state.task_state}): look again", checks
    if task.active and phase(state) != "on":
        way = way_on(state.status, state.id, task.target) or task.command("server start")
        return "differs", f"the server ran before, and is {state.status}: {way}", checks
    if phase(state) != "on":
        return "waiting", "the server is not running: in effect at its next start", checks
    return "in-effect", "", checks


def _image(place: Place, task: CloudTask) -> Found:
    now = place.cloud.image_properties(task.id)
    other = [name for name, value in task.goal.items() if now.get(name) != value]
    if other:
        words = ", ".join(f"{name}={now.get(name)}" for name in other)
        return "differs", f"the image was changed since: {words}", ()
    return "in-effect", "", ()
