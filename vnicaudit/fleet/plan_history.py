"""Joins a plan to the last readings of its hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vnicaudit.fleet.ranking.estimates import Estimates
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.last_readings import LastReadings, PlanHistory, StepHistory, UnreadHost
from vnicaudit.model.plan import Plan, Step
from vnicaudit.model.ranking import GainEstimate


def plan_history(
    plan: Plan,
    hosts: Mapping[str, InventoryHost],
    unread: Collection[str],
    known: LastReadings,
    estimates: Estimates,
) -> PlanHistory:
    """The facts about a plan from the last readings of its hosts, and from measurements."""
    missed = [host.name for uri, host in hosts.items() if uri in unread]
    read = {host.name for uri, host in hosts.items() if uri not in unread}
    marks = known.marks.values()
    return PlanHistory(
        steps={step.id: _of_step(step, hosts, known, estimates) for step in plan.steps},
        unread=tuple(UnreadHost(name, known.hosts.get(name)) for name in missed),
        open_findings=sum(one.findings for name, one in known.hosts.items() if name in read),
        planned=sum(mark.host in read and not mark.is_accepted for mark in marks),
    )


def _of_step(
    step: Step, hosts: Mapping[str, InventoryHost], known: LastReadings, estimates: Estimates
) -> StepHistory:
    """The facts known about a step."""
    host = hosts.get(step.target)
    last = None if host is None else known.hosts.get(host.name)
    rules = frozenset[str]() if last is None else last.rules
    marks = [known.marks.get(one.fingerprint) for one in step.findings]
    return StepHistory(
        findings=len(marks),
        new=sum(
            mark is None and one.rule in rules
            for mark, one in zip(marks, step.findings, strict=True)
        ),
        first_seen=min((mark.first_seen for mark in marks if mark is not None), default=""),
        gain=_gain(step, estimates),
    )


def _gain(step: Step, estimates: Estimates) -> GainEstimate | None:
    """The measured gain of the same change of model on other NICs."""
    models = (one for one in step.changes if one.field == "model")
    return next((estimates.between(one.old or "", one.new or "") for one in models), None)
