"""Table of planned changes to the servers of all projects, one line per server: for spreadsheets
and mail merges. Columns are stable: new ones are added at the end."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.plan import NotPlanned, Plan, ServerUnit, Step
from vnicaudit.reports.plan.projects import projects, what_changes, what_happens
from vnicaudit.reports.plan.step_text import state_of
from vnicaudit.reports.table.csv import lines

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
