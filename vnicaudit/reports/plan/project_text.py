"""Planned changes to the servers of one project, as Markdown for its members."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.plan import NotPlanned, Plan, ServerUnit, Step
from vnicaudit.reports.plan.projects import Project, what_changes, what_happens
from vnicaudit.reports.safe import markdown, markdown_code, safe
from vnicaudit.reports.wording import name_and_id

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
        yield from map(_not_planned, project.not_planned)


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


def _not_planned(one: NotPlanned) -> str:
    name, id = markdown(one.about.name or NAMELESS), markdown_code(one.about.id or "unknown")
    return f"* {name} ({id}): {markdown(one.reason)}\n"
