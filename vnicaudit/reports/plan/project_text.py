"""What is planned for one project's servers, as Markdown for those whose servers they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.reports.plan.projects import Project, called, what_changes, what_happens
from vnicaudit.reports.safe import markdown, markdown_code, safe
from vnicaudit.reports.wording import count

MARK = "<!-- vnicaudit: servers of a project -->"
"""The first line, by which such a file is known again."""
_OPTION = re.compile(r" \(--[^()]*\)$")
"""What is for those who make the plan."""
_INTRO = (
    "A network interface that the hypervisor emulates is slow and costs the server's CPU time. "
    "These servers have one, or something else that keeps their network below what it could be. "
    "Nothing has been changed yet."
)
_READY = (
    "Servers are changed only where their system is known to drive virtio. Where it says below "
    "that this is not known: tell your operator which system it is, and on Windows install the "
    "NetKVM driver of virtio-win first."
)


def project_text(plan: Plan, project: Project) -> str:
    """The whole text."""
    return "".join(_parts(plan, project))


def _parts(plan: Plan, project: Project) -> Iterator[str]:
    who = called(project.id, project.name) or "(unknown)"
    yield f"{MARK}\n\n# Servers of project {markdown(who)}\n\n"
    steps, left = len(project.steps), len(project.left)
    stays = "it is" if left == 1 else "they are"
    said = f"{count(steps, 'change')} planned, {count(left, 'server')} left as {stays}"
    yield f"{markdown(project.target)}, {markdown(plan.created)}: {said}.\n\n{_INTRO}\n\n"
    for step in project.steps:
        yield from _step(step)
    if project.left:
        yield f"## Left as it is\n\n{_READY}\n\n"
        yield from map(_left, project.left)


def _step(step: Step) -> Iterator[str]:
    yield f"## {markdown(step.nic.domain or '(no name)')}\n\n"
    yield f"* Server: {markdown_code(step.nic.uuid or 'unknown')}\n"
    macs = () if step.cloud is None else step.cloud.macs
    if macs:
        yield f"* Network interfaces: {', '.join(map(markdown_code, macs))}\n"
    for change in what_changes(step):
        rules = f" ({', '.join(map(markdown, step.rules))})" if step.rules else ""
        yield f"* Change: {markdown(change)}{rules}\n"
    yield f"* What will happen: {markdown(what_happens(step))}.\n"
    for reason in step.blocked:
        yield f"* In the way: {markdown(reason)}\n"
    if not step.safe:
        yield f"* May hurt: {markdown(step.reason)}\n"
    yield from _in_the_guest(step)
    if step.route:
        yield "\nWhat can be done, in this order:\n\n"
        yield from (f"{number}. {markdown_code(part)}\n" for number, part in
                    enumerate(map(safe, step.route), 1))  # fmt: skip
    yield "\n"


def _in_the_guest(step: Step) -> Iterator[str]:
    if step.guest.name.reason:
        yield f"* In the guest: {markdown(step.guest.name.reason)}\n"
    if step.guest.drivers:
        yield f"* Needed in the guest: {', '.join(map(markdown, step.guest.drivers))}\n"
    for note in step.guest.notes:
        yield f"* In the guest: {markdown(note)}\n"


def _left(left: Left) -> str:
    name, id = markdown(left.nic.domain or "(no name)"), markdown_code(left.nic.uuid or "unknown")
    return f"* {name} ({id}): {markdown(_OPTION.sub('', left.reason))}\n"
