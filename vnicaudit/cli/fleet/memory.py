"""What a report of a fleet has beside its audit: the inventory, what the history remembers, and the
ranking."""

from __future__ import annotations

from vnicaudit.cli.fleet.request import FleetRequest
from vnicaudit.fleet.running.fleet_run import FleetRun
from vnicaudit.reports.page.data import FindingHistory, PageMemory

FIRST = 10
"""Changes of the ranking that are in a report."""


class AuditMemory:
    """Of one audit: asked after it was stored (``is_stored``), when reports begin. Where names are
    replaced, it tells nothing: it has them."""

    def __init__(self, request: FleetRequest) -> None:
        self._request = request
        self.run: FleetRun | None = None
        self.is_stored = False

    def of_run(self) -> PageMemory:
        """What is known. Raises UsageError, HistoryError."""
        run = self.run
        if run is None or self._request.audit.redactor is not None:
            return PageMemory()
        if not self.is_stored:
            return PageMemory(hosts=_hosts(run))
        return self._remembered(run)

    def _remembered(self, run: FleetRun) -> PageMemory:
        from vnicaudit.fleet.ranking.ranking import rank
        from vnicaudit.history.history import history_to_read
        from vnicaudit.reports.page.from_history import changes_of, history_of, settled_of

        findings: dict[str, FindingHistory] = {}
        with history_to_read(self._request.history.place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                summary = state.summary()
                ended = [one for one in state.settled() if one.until is not None]
                for _host, found in state.open_on(state.hosts()):
                    findings |= history_of(found)
        readings = (kept.reading() for kept in run.readings())
        catalogue = self._request.audit.reading.catalogue
        return PageMemory(
            hosts=_hosts(run),
            findings=findings,
            changes=changes_of(summary),
            trend=summary.audits,
            settled=tuple(map(settled_of, ended)),
            ranking=rank(run.audit, readings, gains, most=FIRST),
            rules_left_out=tuple(sorted(set(catalogue.ids) - set(run.audit.coverage.rules))),
        )


def _hosts(run: FleetRun) -> dict[str, tuple[str, str]]:
    return {host.uri: (host.name, host.site) for host in run.audit.hosts}
