"""The history of a fleet, at hand while a plan is made: asked, never written, and never the reason
why nothing is planned, unless it was named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.model.last_readings import (
    NO_HISTORY,
    LastReadings,
    PlanHistory,
    StepHistory,
    UnreadHost,
)

if TYPE_CHECKING:
    from vnicaudit.fleet.ranking.estimates import Estimates
    from vnicaudit.model.fleet import InventoryHost
    from vnicaudit.model.plan import Plan, Step
    from vnicaudit.model.ranking import GainEstimate


class HistoryAtHand:
    """The history that a plan is made with. ``missing``: why it adds nothing; empty: it can."""

    def __init__(self, options: HistoryOptions) -> None:
        """Raises UsageError where one was named and cannot be opened."""
        from vnicaudit.history.history import history_beside

        self._place = options.place
        self.missing = ""
        try:
            with history_beside(self._place):
                pass
        except (UsageError, HistoryError) as error:
            if options.is_named:
                raise UsageError(str(error)) from None
            self.missing = str(error)

    def of(
        self, plan: Plan, hosts: Mapping[str, InventoryHost], unread: Collection[str]
    ) -> PlanHistory:
        """The facts known about a plan. ``hosts``: by URI; ``unread``: URIs of those that could not
        be read."""
        if self.missing:
            return NO_HISTORY
        from vnicaudit.fleet.ranking.estimates import Estimates
        from vnicaudit.history.history import history_beside

        names = [host.name for host in hosts.values()]
        marks = {one.fingerprint for step in plan.steps for one in step.findings}
        try:
            with history_beside(self._place) as history:
                known, gains = history.last_readings(names, marks), history.gains()
        except (UsageError, HistoryError) as error:
            self.missing = str(error)
            return NO_HISTORY
        if not known.hosts:
            self.missing = f"history {self._place.label}: it has no audit of these hosts"
        return plan_history(plan, hosts, unread, known, Estimates(gains))


def plan_history(
    plan: Plan,
    hosts: Mapping[str, InventoryHost],
    unread: Collection[str],
    known: LastReadings,
    estimates: Estimates,
) -> PlanHistory:
    """The facts about a plan from the last readings of its hosts, and from measurements."""
    by_step = ((step.id, _of_step(step, hosts, known, estimates)) for step in plan.steps)
    missed = [host.name for uri, host in hosts.items() if uri in unread]
    read = {host.name for uri, host in hosts.items() if uri not in unread}
    marks = known.marks.values()
    return PlanHistory(
        steps={number: facts for number, facts in by_step if facts is not None},
        unread=tuple(UnreadHost(name, known.hosts.get(name)) for name in missed),
        open_findings=sum(one.findings for name, one in known.hosts.items() if name in read),
        planned=sum(mark.host in read and not mark.is_accepted for mark in marks),
    )


def _of_step(
    step: Step, hosts: Mapping[str, InventoryHost], known: LastReadings, estimates: Estimates
) -> StepHistory | None:
    """The facts known about a step; None: there are none."""
    host = hosts.get(step.target)
    last = None if host is None else known.hosts.get(host.name)
    rules = frozenset[str]() if last is None else last.rules
    marks = [known.marks.get(one.fingerprint) for one in step.findings]
    facts = StepHistory(
        findings=len(marks),
        new=sum(
            mark is None and one.rule in rules
            for mark, one in zip(marks, step.findings, strict=True)
        ),
        first_seen=min((mark.first_seen for mark in marks if mark is not None), default=""),
        gain=_gain(step, estimates),
    )
    return facts if facts.new or facts.first_seen or facts.gain else None


def _gain(step: Step, estimates: Estimates) -> GainEstimate | None:
    """The gain that was measured for the same change of the NIC's model elsewhere."""
    models = (one for one in step.changes if one.field == "model")
    return next((estimates.between(one.old or "", one.new or "") for one in models), None)
