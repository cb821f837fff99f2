"""Routes of `vnicaudit fleet serve`: metrics from the history, and a page with the state of the
fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import catalogue_with
from vnicaudit.cli.fleet.live_page import history_page
from vnicaudit.errors import MissingExtraError, VnicauditError
from vnicaudit.fleet.running.spool import SpoolFolder, finished_spool
from vnicaudit.fleet.serving.answers import HTML, Route, RouteContent
from vnicaudit.fleet.serving.shared import SharedValue
from vnicaudit.history.opening import history_to_read
from vnicaudit.history.place import check_extras
from vnicaudit.model.finding import Severity
from vnicaudit.reports.metrics.exposition import check_exposition, exposed
from vnicaudit.reports.metrics.fleet import fleet_families
from vnicaudit.reports.page.data import PageData, PageEnd
from vnicaudit.reports.page.from_fleet import about_fleet, host_of, notes_of, subjects_of
from vnicaudit.reports.page.render import render_page

if TYPE_CHECKING:
    from vnicaudit.fleet.running.spool import AuditSpool
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import HostReading
    from vnicaudit.model.fleet_counts import FleetCounts

GOOD_FOR = 10.0
"""Seconds for which counts and page are reused."""
PATIENCE = 20.0
"""Seconds that a request waits for counts."""
PAGE_PATIENCE = 5.0
"""Seconds that a request waits for a new page; then it gets the previous one."""


def metrics_route(place: HistoryPlace, on_error: Callable[[str], object] = str) -> Route:
    """Metrics of a fleet, from its history. ``on_error``: see SharedValue. Raises
    MissingExtraError."""
    check_exposition()
    check_extras(place.kind)
    shared = SharedValue(
        lambda: _counts(place),
        good_for=GOOD_FOR, patience=PATIENCE, clock=time, on_error=on_error,
    )  # fmt: skip

    def route(accept: str) -> RouteContent:
        return RouteContent(*exposed(fleet_families(shared.get()), accept))

    return route


def page_route(
    place: HistoryPlace,
    state: Path,
    on_error: Callable[[str], object] = str,
    patience: float = PAGE_PATIENCE,
) -> Route:
    """Page with the state of the fleet from its history. A plain install has no history: then from
    the newest stored audit. It is made in the background, for the first time at once."""
    pages = _Pages(place, state)
    shared = SharedValue(
        pages.newest,
        good_for=GOOD_FOR, patience=patience, clock=time, older=True, on_error=on_error,
    )  # fmt: skip
    shared.begin()

    def route(accept: str) -> RouteContent:
        del accept
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
        try:
            return self._of_history()
        except MissingExtraError:
            return _page_of_audit(self._state)

    def _of_history(self) -> bytes:
        with history_to_read(self._place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                mark = state.mark()
                if mark != self._made[0]:
                    page = history_page(state, gains, SpoolFolder(self._state))
                    self._made = (mark, page)
        return self._made[1]


def _page_of_audit(state: Path) -> bytes:
    return "".join(_rendered(finished_spool(state))).encode()


def _rendered(spool: AuditSpool) -> Iterator[str]:
    audit = spool.audit()
    readings = tuple(_readings(spool, len(audit.chosen_hosts)))
    end = PageEnd(
        finished=audit.finished or "",
        hosts=tuple(map(host_of, readings)),
        notes=tuple(note for each in readings for note in notes_of(each)),
    )
    about = replace(about_fleet(audit), live=True)
    subjects = (subject for each in readings for subject in subjects_of(each))
    return render_page(PageData(about=about, subjects=subjects, end=end))


def _readings(spool: AuditSpool, hosts: int) -> Iterator[HostReading]:
    """Readings that are stored completely. One that another audit is removing at the same time is
    left out."""
    for place in range(hosts):
        kept = spool.host(place)
        if kept is not None:
            try:
                yield kept.reading()
            except VnicauditError:
                continue
