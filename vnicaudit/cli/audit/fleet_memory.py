"""The history of a fleet, for the reports of one audit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import HistoryError, MissingExtraError, UsageError
from vnicaudit.fleet.fleet_run import FleetRun
from vnicaudit.fleet.ranking import rank
from vnicaudit.history import history_to_read
from vnicaudit.history.place import NothingStoredError
from vnicaudit.model.ranking import FindingHistory, PageMemory
from vnicaudit.reports.page.from_history import changes_of
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace

FIRST = 10
"""Changes of the ranking shown in a report."""
_AGAIN = {"fixed": "reopened", "gone": "returned"}
"""Previous state of a finding that occurs again -> its state in the report; with any other previous
state it is "known"."""


class AuditMemory:
    """The history's knowledge about one audit. Before the audit is stored: the state of each known
    finding. Afterwards (``is_stored``): what the audit changed. Nothing if names are redacted,
    since the history contains them, or once the history has failed: it is optional."""

    def __init__(
        self, place: HistoryPlace, rules: Collection[str], redact: Callable[[str], str] | None
    ) -> None:
        """``rules``: all ids; ``redact``: pseudonyms for a text, None: names are not redacted."""
        self._place = place
        self._rules = rules
        self._redact = redact
        self.run: FleetRun | None = None
        self.is_stored = False
        self.has_failed = False

    @contextmanager
    def optional(self, consequence: str) -> Iterator[None]:
        """Work with the history; if it fails, that is told, with the ``consequence``."""
        try:
            yield
        except (HistoryError, UsageError) as error:
            self.has_failed = True
            text = str(error) if self._redact is None else self._redact(str(error))
            tell(safe(f"Warning: {text}; {consequence}"))

    def now(self) -> PageMemory:
        """Everything known at this moment."""
        run = self.run
        if run is None or self.has_failed or self._redact is not None:
            return PageMemory()
        with self.optional("the report lacks what it knows"):
            return self._changed(run) if self.is_stored else self._before(run)
        return PageMemory()

    def _before(self, run: FleetRun) -> PageMemory:
        """The state that each known finding will have if it occurs."""
        findings: dict[str, FindingHistory] = {}
        try:
            with (
                history_to_read(self._place) as history,
                history.fleet_state() as state,
            ):
                for one in state.settled():
                    findings[one.fingerprint] = _past(one.state, one.first_seen)
                for _host, known in state.open_on(state.hosts()):
                    for one in known:
                        findings[one.fingerprint] = _past(one.state, one.first_seen)
        except MissingExtraError:
            return PageMemory(hosts=_hosts(run))
        except NothingStoredError:  # everything is new
            findings = {}
        new = FindingHistory("new", run.audit.started)
        return PageMemory(hosts=_hosts(run), findings=findings, unknown=new)

    def _changed(self, run: FleetRun) -> PageMemory:
        with history_to_read(self._place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                summary = state.summary()
                ended = [one for one in state.settled() if one.until is not None]
        readings = (kept.reading() for kept in run.readings())
        return PageMemory(
            hosts=_hosts(run),
            changes=changes_of(summary),
            trend=summary.audits,
            settled=tuple(ended),
            ranking=rank(run.audit, readings, gains, most=FIRST, per_place=False),
            rules_left_out=tuple(sorted(set(self._rules) - set(run.audit.coverage.rules))),
        )


@lru_cache(maxsize=1024)
def _past(state: str, first_seen: str) -> FindingHistory:
    """Cached so that equal values are one object: many findings of a fleet share state and day."""
    return FindingHistory(_AGAIN.get(state, "known"), first_seen)


def _hosts(run: FleetRun) -> dict[str, tuple[str, str]]:
    return {host.uri: (host.name, host.site) for host in run.audit.hosts}
