"""A plan of clouds by project: what is planned for whose servers, and what will happen to them.

Nothing is sent to anybody: who operates the cloud hands it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.reports.plan.step_text import state_of

_NOTHING = "Nothing, as things are"
_ASKED = "Nothing, unless somebody decides for it: it may hurt the server"
_CYCLE = (
    "The server is shut down, changed and started again. Its id, addresses, disks and MAC "
    "addresses stay; its guest gets another network device"
)
_OFF = "The server is off and stays off: the change takes effect when it is started"
_BY_HAND = "An operator does it by hand; the server is shut down for it"


class Project(NamedTuple):
    """One project of one cloud: steps on its servers, and those that are left as they are."""

    target: str
    id: str
    steps: tuple[Step, ...]
    left: tuple[Left, ...]
    name: str = ""
    """Empty: not known."""


def called(project: str, name: str) -> str:
    """``NAME (ID)``, as far as they are known."""
    return f"{name} ({project})" if name and project else project


def projects(plan: Plan) -> Iterator[Project]:
    """Every project that has a server in the plan, by cloud and id. Images and flavors are the
    operator's to speak of."""
    found: dict[tuple[str, str], tuple[list[Step], list[Left]]] = {}
    for step in plan.steps:
        if step.cloud is not None and step.cloud.object == "server":
            found.setdefault((step.target, step.cloud.project), ([], []))[0].append(step)
    for left in plan.left:
        if left.object == "server":
            found.setdefault((left.target, left.project), ([], []))[1].append(left)
    for (target, project), (steps, lefts) in sorted(found.items(), key=lambda item: item[0]):
        yield Project(target, project, tuple(steps), tuple(lefts), _name(steps, lefts))


def _name(steps: list[Step], lefts: list[Left]) -> str:
    parts = (*(step.cloud for step in steps), *lefts)
    return next((part.project_name for part in parts if part and part.project_name), "")


def what_happens(step: Step) -> str:
    """What its owner will notice, as a sentence without its end."""
    if step.to != "virtio":
        return _BY_HAND
    if state_of(step) == "blocked":
        return _NOTHING
    if not step.safe:
        return _ASKED
    return _CYCLE if step.running else _OFF


def what_changes(step: Step) -> list[str]:
    """``hw_vif_model: rtl8139 → virtio``, one for each property; of a NIC that gets another
    backend, of that."""
    part = step.cloud
    if part is None or not part.properties:
        return [f"{one.field}: {_set(one.old)} → {_set(one.new)}" for one in step.changes]
    return [f"{name}: {_set(part.old.get(name))} → {_set(new)}" for name, new in
            part.properties.items()]  # fmt: skip


def _set(value: str | None) -> str:
    return "not set" if value is None else value
