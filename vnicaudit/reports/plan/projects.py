"""A plan for clouds by project: what is planned for its servers, and what will happen to them.

Nothing is sent to anybody; that is up to the cloud's operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.model.plan import CloudUnit, NotPlanned, Plan, ServerUnit, Step
from vnicaudit.reports.plan.step_text import state_of

_NOTHING = "Nothing, as things are"
_ASKED = "Nothing, unless somebody decides to do it: it may harm the server"
_CYCLE = (
    "The server is shut down, changed and started again. Its id, addresses, disks and MAC "
    "addresses stay; its guest gets a different network device"
)
_OFF = "The server is off and stays off: the change takes effect when it is started"
_BY_HAND = "An operator does it by hand; the server is shut down for it"


class Project(NamedTuple):
    """One project of one cloud: steps on its servers, and servers left as they are."""

    target: str
    id: str
    steps: tuple[Step, ...]
    not_planned: tuple[NotPlanned, ...]
    name: str = ""
    """Empty: not known."""


def projects(plan: Plan) -> Iterator[Project]:
    """Every project with a server in the plan, by cloud and id. Images and flavors are left out:
    they are the operator's."""
    found: dict[tuple[str, str], tuple[list[Step], list[NotPlanned]]] = {}
    for step in plan.steps:
        if isinstance(step.unit, ServerUnit):
            found.setdefault((step.target, step.unit.project), ([], []))[0].append(step)
    for one in plan.not_planned:
        if one.about.kind == "server":
            found.setdefault((one.target, one.project), ([], []))[1].append(one)
    for (target, project), (steps, others) in sorted(found.items(), key=lambda item: item[0]):
        yield Project(target, project, tuple(steps), tuple(others), _name(steps, others))


def _name(steps: list[Step], others: list[NotPlanned]) -> str:
    of_steps = (step.unit.project_name for step in steps if isinstance(step.unit, CloudUnit))
    return next(filter(None, (*of_steps, *(one.project_name for one in others))), "")


def what_happens(step: Step) -> str:
    """The effect that a server's owner will notice, as a sentence without its end."""
    if step.to != "virtio":
        return _BY_HAND
    if state_of(step) == "blocked":
        return _NOTHING
    if not step.safe:
        return _ASKED
    return _CYCLE if step.running else _OFF


def what_changes(step: Step) -> list[str]:
    """``hw_vif_model: rtl8139 → virtio`` for each property; for a NIC that gets another backend,
    the changes to the NIC."""
    unit = step.unit
    if not isinstance(unit, CloudUnit) or not unit.properties:
        return [
            f"{one.field}: {_value_words(one.old)} → {_value_words(one.new)}"
            for one in step.changes
        ]
    return [f"{name}: {_value_words(unit.old.get(name))} → {_value_words(new)}" for name, new in
            unit.properties.items()]  # fmt: skip


def _value_words(value: str | None) -> str:
    return "not set" if value is None else value
