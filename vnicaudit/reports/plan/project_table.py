"""What is planned for all projects' servers, one line for each: for spreadsheets, and for mail
merges. Columns are stable: new ones go last."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.reports.plan.projects import projects, what_changes, what_happens
from vnicaudit.reports.plan.step_text import state_of
from vnicaudit.reports.safe import csv_cell

COLUMNS = (
    "cloud", "project", "server", "id", "host", "zone", "running", "macs", "rules", "changes",
    "state", "what_happens", "why", "project_name",
)  # fmt: skip
"""``state``: safe, unsafe, blocked or left; ``why``: what stands in the way, or speaks for it."""


def projects_table(plan: Plan) -> str:
    """The whole table, with a head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows(map(csv_cell, row) for row in _rows(plan))
    return text.getvalue()


def _rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    for project in projects(plan):
        yield from map(_planned, project.steps)
        yield from map(_left, project.left)


def _planned(step: Step) -> tuple[str, ...]:
    part = step.cloud
    host, zone, macs = ("", "", ()) if part is None else (part.host or "", part.zone, part.macs)
    return (
        step.target,
        "" if part is None else part.project,
        step.nic.domain or "",
        step.nic.uuid or "",
        host,
        zone,
        str(step.running).lower(),
        " ".join(macs),
        " ".join(step.rules),
        "; ".join(what_changes(step)),
        state_of(step),
        what_happens(step),
        "; ".join(step.blocked) or step.reason,
        "" if part is None else part.project_name,
    )


def _left(left: Left) -> tuple[str, ...]:
    return (
        left.target, left.project, left.nic.domain or "", left.nic.uuid or "", "", "", "", "",
        " ".join(left.rules), "", "left", "", left.reason, left.project_name,
    )  # fmt: skip
