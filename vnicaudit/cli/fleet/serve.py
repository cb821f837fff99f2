"""``vnicaudit fleet serve``: metrics and a page, read-only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from vnicaudit.audit.judging.catalogue import catalogue_with
from vnicaudit.base.wording import count
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.records import SectionedCommand, option, state_folder, takes
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import JournalError, UsageError
from vnicaudit.fleet.ranking import rank
from vnicaudit.fleet.serving import (
    HTML,
    ReadOnlyServer,
    Route,
    RouteContent,
    SharedValue,
    host_names,
    listen_address,
)
from vnicaudit.fleet.spool import AuditSpool, SpoolFolder
from vnicaudit.history import history_to_read
from vnicaudit.history.place import check_extras
from vnicaudit.model.finding import Severity
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading
from vnicaudit.model.history import FleetHost
from vnicaudit.model.ranking import FindingHistory
from vnicaudit.model.report import Tool
from vnicaudit.reports.metrics import MEDIA_TYPE, fleet_families, written
from vnicaudit.reports.page.from_audit import (
    PageAbout,
    PageEnd,
    PageHost,
    PageNote,
    PageSubject,
    host_notes,
)
from vnicaudit.reports.page.from_history import (
    changes_of,
    coverage_notes,
    known_host,
    measured_of,
    measured_on,
    merged_reading,
)
from vnicaudit.reports.page.summary import HtmlPage
from vnicaudit.reports.safe import message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vnicaudit.history.fleet_state import FleetState
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import FleetCounts
    from vnicaudit.model.ranking import MeasuredGain

# Page from a history: every host as last read, and what became of each finding.


FIRST = 10
"""Changes of the ranking shown on the page."""
_MOST_NOTES = 2000


def history_page(state: FleetState, gains: Sequence[MeasuredGain], folder: SpoolFolder) -> bytes:
    """The page of a fleet. ``folder``: the stored readings."""
    return "".join(_LivePage(state, folder).pieces(gains)).encode()


class _LivePage:
    """Builds the page a few hosts at a time, so that only the page itself takes memory."""

    def __init__(self, state: FleetState, folder: SpoolFolder) -> None:
        self._state = state
        self._summary = state.summary()
        self._readings = _KeptReadings(folder)
        self._measured = measured_of(state.measurements())
        self._page = HtmlPage()
        self._hosts: list[PageHost] = []
        self._notes: list[PageNote] = []
        self._untried = 0

    def pieces(self, gains: Sequence[MeasuredGain]) -> Iterator[str]:
        """The page, in pieces."""
        summary = self._summary
        newest = summary.newest
        hosts = self._state.hosts()
        audit = FleetAudit(
            id=newest.id, started=newest.started, finished=newest.finished, version=newest.version,
            coverage=Coverage(summary.rules),
            chosen_hosts=tuple(one.name for one in hosts),
        )  # fmt: skip
        readings = self._readings_into_page(hosts)
        ranking = rank(audit, readings, gains, most=FIRST, per_place=False)
        for one in self._state.settled():
            self._page.add_settled(one)
        about = PageAbout(
            title=f"Fleet of {count(len(hosts), 'host')}", tool=Tool("vnicaudit", newest.version),
            started=newest.started, live=True,
        )  # fmt: skip
        catalogue = catalogue_with(())
        rules = (catalogue.info(rule) for rule in catalogue.ids)
        end = PageEnd(
            finished=newest.finished or newest.started,
            hosts=tuple(self._hosts),
            notes=(*coverage_notes(summary, self._untried), *self._notes),
            rules=tuple(rules),
            changes=changes_of(summary),
            trend=summary.audits,
            ranking=ranking,
            rules_asked=summary.rules,
            rules_left_out=tuple(sorted(set(catalogue.ids) - set(summary.rules))),
        )
        yield from self._page.finish(about, end)

    def _readings_into_page(self, hosts: Sequence[FleetHost]) -> Iterator[HostReading]:
        """The reading of each host, added to the page as it passes."""
        for host, findings in self._state.open_on(hosts):
            stored = self._readings.of(host)
            reading = merged_reading(host, findings, stored, self._state.nics_on)
            self._note(host, reading)
            past = {one.fingerprint: FindingHistory(one.state, one.first_seen) for one in findings}
            read_at = "" if host.is_fresh else host.read_at or ""
            for audited in reading.audited:
                found = measured_on(audited, self._measured)
                subject = PageSubject(audited, host.name, host.site, past, found, read_at)
                self._page.add(subject)
            yield reading

    def _note(self, host: FleetHost, reading: HostReading) -> None:
        self._hosts.append(known_host(host, reading))
        self._untried += not host.is_tried
        if host.audit is None:
            error = host.error or "not part of any audit yet"
            self._notes.append(PageNote("not read", host.name, error))
        elif host.is_fresh and len(self._notes) < _MOST_NOTES:
            self._notes += host_notes(reading.result)


class _KeptReadings:
    """Readings in the spools of the last audits, found by the host and audit named in the
    history."""

    def __init__(self, folder: SpoolFolder) -> None:
        self._folder = folder
        self._audits: dict[str, tuple[AuditSpool, dict[str, int]] | None] = {}

    def of(self, host: FleetHost) -> HostReading | None:
        """The last reading of a host; None if it is no longer stored."""
        kept = None if host.audit is None else self._audit(host.audit)
        if kept is None:
            return None
        spool, places = kept
        place = places.get(host.name)
        spooled = None if place is None else spool.host(place)
        try:
            reading = None if spooled is None else spooled.reading()
        except JournalError:
            return None
        if reading is None or reading.status == "failed" or reading.host.name != host.name:
            return None
        return reading

    def _audit(self, name: str) -> tuple[AuditSpool, dict[str, int]] | None:
        if name not in self._audits:
            spool = self._folder.finished_audit(name)
            self._audits[name] = None
            if spool is not None:
                names = spool.audit().chosen_hosts
                self._audits[name] = spool, {each: place for place, each in enumerate(names)}
        return self._audits[name]


# Routes of `vnicaudit fleet serve`: metrics from the history, and a page with the state of the
# fleet.


GOOD_FOR = 10.0
"""Seconds for which counts and page are reused."""
PATIENCE = 20.0
"""Seconds that a request waits for counts."""
PAGE_PATIENCE = 5.0
"""Seconds that a request waits for a new page; then it gets the previous one."""


def metrics_route(place: HistoryPlace, on_error: Callable[[str], object] = str) -> Route:
    """Metrics of a fleet, from its history. ``on_error``: see SharedValue."""
    shared = SharedValue(
        lambda: _counts(place),
        good_for=GOOD_FOR, patience=PATIENCE, clock=time, on_error=on_error,
    )  # fmt: skip

    def route() -> RouteContent:
        return RouteContent(MEDIA_TYPE, "".join(written(fleet_families(shared.get()))).encode())

    return route


def page_route(
    place: HistoryPlace,
    state: Path,
    on_error: Callable[[str], object] = str,
    patience: float = PAGE_PATIENCE,
) -> Route:
    """Page with the state of the fleet from its history. It is made in the background, for the
    first time at once."""
    pages = _Pages(place, state)
    shared = SharedValue(
        pages.newest,
        good_for=GOOD_FOR, patience=patience, clock=time, older=True, on_error=on_error,
    )  # fmt: skip
    shared.begin()

    def route() -> RouteContent:
        return RouteContent(HTML, shared.get())

    return route


def _counts(place: HistoryPlace) -> FleetCounts:
    with history_to_read(place) as history:
        return history.counts(severity_of)


@cache
def severity_of(rule: str) -> Severity | None:
    """The default severity of a shipped rule; None for any other rule."""
    catalogue = catalogue_with(())
    return catalogue.info(rule).severity if rule in catalogue.ids else None


class _Pages:
    """Rebuilds the page only when the history has changed."""

    def __init__(self, place: HistoryPlace, state: Path) -> None:
        self._place = place
        self._state = state
        self._made: tuple[tuple[int, ...], bytes] = ((), b"")

    def newest(self) -> bytes:
        """The current page. Raises UsageError, HistoryError."""
        with history_to_read(self._place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                mark = state.mark()
                if mark != self._made[0]:
                    page = history_page(state, gains, SpoolFolder(self._state))
                    self._made = (mark, page)
        return self._made[1]


_EPILOG = """\b
Examples:
  vnicaudit fleet serve                              the state of the fleet as a web page
  vnicaudit fleet serve --metrics                    also metrics for Prometheus
  vnicaudit fleet serve --metrics --listen 127.0.0.1:9000
  vnicaudit fleet serve --metrics --allow-host vnic.example.org   behind a proxy"""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit fleet serve``."""

    metrics: Annotated[
        bool, option("Also serve counts from the history at /metrics, for Prometheus.")
    ] = False
    listen: Annotated[
        str,
        option("Address to listen on; port 0 means any free port.", metavar="ADDRESS:PORT"),
    ] = "127.0.0.1:9817"
    public: Annotated[
        bool,
        option(
            "Allow an address that other machines can reach. There is no password: anyone who can "
            "connect can read everything."
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        option(
            "Also answer requests for this host name, as a proxy forwards them. Repeatable.",
            "--allow-host",
            metavar="NAME",
        ),
    ] = ()
    place: HistoryOptions


@click.command("serve", cls=SectionedCommand, epilog=_EPILOG)
@takes(ServeOptions)
def command(options: ServeOptions) -> int:
    """Serve a web page with the state of a fleet, and its metrics, until Ctrl-C.

    The page shows every host of the history as last read, which findings are new, known, fixed or
    not judged again, the trend of recent audits, and what to change first.

    It is read-only and by default reachable only from this machine. It has no password: to publish
    it, put an authenticating proxy in front.
    """
    address = listen_address(options.listen, public=options.public)
    place, state = options.place.place, Path(state_folder(options.place.state))
    check_extras(place.kind)
    routes = {"/metrics": metrics_route(place, _failed)} if options.metrics else {}
    routes["/"] = page_route(place, state, _failed)
    try:
        server = ReadOnlyServer(address, host_names(options.allowed_hosts), routes, _failed)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {options.listen}: {error.strerror}; choose another ADDRESS:PORT "
            "with --listen"
        ) from None
    with server:
        tell(f"Listening on {server.address.url}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            tell("Stopped.")
    return 0


def _failed(reason: str) -> None:
    tell(f"Error: {message(reason)}")
