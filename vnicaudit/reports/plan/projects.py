"""A plan for clouds by project: what is planned for its servers, and what will happen to them.

Nothing is sent to anybody; that is up to the cloud's operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.plan import CloudUnit, NotPlanned, Plan, ServerUnit, Step
from vnicaudit.reports.plan.step_text import state_of
from vnicaudit.reports.safe import markdown, markdown_code, safe
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.wording import name_and_id

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


# Table of planned changes to the servers of all projects, one line per server: for spreadsheets and
# mail merges. Columns are stable: new ones are added at the end.


COLUMNS = (
    "cloud", "project", "server", "id", "host", "zone", "running", "macs", "rules", "changes",
    "state", "what_happens", "why", "project_name",
)  # fmt: skip
"""``state``: safe, unsafe, blocked or left. ``why``: what blocks the change, or the reason for
it."""


def projects_table(plan: Plan) -> str:
    """The whole table, with column heads."""
    return lines([COLUMNS, *_rows(plan)])


def _rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    for project in projects(plan):
        yield from map(_planned, project.steps)
        yield from map(_not_planned, project.not_planned)


def _planned(step: Step) -> tuple[str, ...]:
    unit = step.unit if isinstance(step.unit, ServerUnit) else ServerUnit({}, {})
    return (
        step.target,
        unit.project,
        step.about.name or "",
        step.about.id or "",
        unit.host or "",
        unit.zone,
        str(step.running).lower(),
        " ".join(unit.macs),
        " ".join(step.rules),
        "; ".join(what_changes(step)),
        state_of(step),
        what_happens(step),
        "; ".join(one.text for one in step.blocked) or step.reason,
        unit.project_name,
    )


def _not_planned(one: NotPlanned) -> tuple[str, ...]:
    return (
        one.target, one.project, one.about.name or "", one.about.id or "", "", "", "", "",
        " ".join(one.rules), "", "left", "", one.text, one.project_name,
    )  # fmt: skip


# Planned changes to the servers of one project, as Markdown for its members.


MARK = "<!-- vnicaudit: servers of a project -->"
"""First line of such a file, by which it is recognised."""
_INTRO = (
    "A network interface that the hypervisor emulates is slow and costs the server's CPU time. "
    "These servers have one, or something else that keeps their network below what it could be. "
    "Nothing has been changed yet."
)
_READY = (
    "Servers are changed only if their system is known to support virtio. If it says below that "
    "this is unknown, tell your operator which system it is; on Windows, install the NetKVM driver "
    "of virtio-win first."
)


def project_text(plan: Plan, project: Project) -> str:
    """The text for the members of one project, as Markdown."""
    return "".join(_parts(plan, project))


def _parts(plan: Plan, project: Project) -> Iterator[str]:
    who = name_and_id(project.name, project.id) or "(unknown)"
    yield f"{MARK}\n\n# Servers of project {markdown(who)}\n\n"
    steps, left = len(project.steps), len(project.not_planned)
    stays = "it is" if left == 1 else "they are"
    said = f"{count(steps, 'change')} planned, {count(left, 'server')} left as {stays}"
    yield f"{markdown(project.target)}, {markdown(plan.created)}: {said}.\n\n{_INTRO}\n\n"
    for step in project.steps:
        yield from _step(step)
    if project.not_planned:
        yield f"## Left as it is\n\n{_READY}\n\n"
        yield from map(_not_planned_project_text, project.not_planned)


def _step(step: Step) -> Iterator[str]:
    yield f"## {markdown(step.about.name or NAMELESS)}\n\n"
    yield f"* Server: {markdown_code(step.about.id or 'unknown')}\n"
    macs = step.unit.macs if isinstance(step.unit, ServerUnit) else ()
    if macs:
        yield f"* Network interfaces: {', '.join(map(markdown_code, macs))}\n"
    for change in what_changes(step):
        rules = f" ({', '.join(map(markdown, step.rules))})" if step.rules else ""
        yield f"* Change: {markdown(change)}{rules}\n"
    yield f"* What will happen: {markdown(what_happens(step))}.\n"
    for reason in step.blocked:
        yield f"* Blocked: {markdown(reason.text)}\n"
    if not step.safe:
        yield f"* Risk: {markdown(step.reason)}\n"
    yield from _in_the_guest(step)
    if step.procedure:
        yield "\nWhat can be done, in this order:\n\n"
        yield from (f"{number}. {markdown_code(part)}\n" for number, part in
                    enumerate(map(safe, step.procedure), 1))  # fmt: skip
    yield "\n"


def _in_the_guest(step: Step) -> Iterator[str]:
    if step.guest.name.reason:
        yield f"* In the guest: {markdown(step.guest.name.reason)}\n"
    if step.guest.drivers:
        yield f"* Needed in the guest: {', '.join(map(markdown, step.guest.drivers))}\n"
    for note in step.guest.notes:
        yield f"* In the guest: {markdown(note)}\n"


def _not_planned_project_text(one: NotPlanned) -> str:
    name, id = markdown(one.about.name or NAMELESS), markdown_code(one.about.id or "unknown")
    return f"* {name} ({id}): {markdown(one.reason)}\n"
