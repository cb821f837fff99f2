"""The history of a fleet while a plan is made. It is queried but never written, and its absence
never prevents planning, unless it was named on the command line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from vnicaudit.cli.options.history import HistoryOptions, is_on_command_line
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.fleet.plan_history import plan_history
from vnicaudit.fleet.ranking.estimates import Estimates
from vnicaudit.history.opening import optional_history
from vnicaudit.model.last_readings import NO_HISTORY, PlanHistory

if TYPE_CHECKING:
    from vnicaudit.model.fleet import InventoryHost
    from vnicaudit.model.plan import Plan


class PlanHistoryReader:
    """The history used for a plan. ``missing``: why it adds nothing, for a note; empty: it can be
    used, or nobody ever made one. ``is_failed``: it was named on the command line, and could not be
    read once the hosts were read."""

    def __init__(self, options: HistoryOptions) -> None:
        """Raises UsageError if the history named on the command line cannot be opened."""
        self._place = options.place
        self._is_used = options.is_named or self._place.exists
        self.missing = ""
        self.is_failed = False
        if self._is_used:
            self._check()

    def _check(self) -> None:
        try:
            with optional_history(self._place):
                pass
        except (UsageError, HistoryError) as error:
            if is_on_command_line():
                raise UsageError(str(error)) from None
            self.missing = str(error)

    def of(
        self, plan: Plan, hosts: Mapping[str, InventoryHost], unread: Collection[str]
    ) -> PlanHistory:
        """The facts known about a plan. ``hosts``: by URI; ``unread``: URIs of those that could not
        be read."""
        if self.missing or not self._is_used:
            return NO_HISTORY

        names = [host.name for host in hosts.values()]
        marks = {one.fingerprint for step in plan.steps for one in step.findings}
        try:
            with optional_history(self._place) as history:
                known, gains = history.last_readings(names, marks), history.gains()
        except (UsageError, HistoryError) as error:
            self.missing, self.is_failed = str(error), is_on_command_line()
            return NO_HISTORY
        if not (known.hosts or known.marks):
            self.missing = f"history {self._place.label}: it has no audit of these hosts"
        return plan_history(plan, hosts, unread, known, Estimates(gains))
