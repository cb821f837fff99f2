"""Page from a history: every host as last read, and what became of each finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import catalogue_with
from vnicaudit.base.wording import count
from vnicaudit.errors import JournalError
from vnicaudit.fleet.ranking.ranking import rank
from vnicaudit.fleet.running.spool import AuditSpool, SpoolFolder
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading
from vnicaudit.model.fleet_state import FindingMark, FleetHost
from vnicaudit.model.report import Tool
from vnicaudit.reports.page.data import PageAbout, PageEnd, PageHost, PageNote, PageRule
from vnicaudit.reports.page.from_fleet import notes_of, subjects_of
from vnicaudit.reports.page.from_history import (
    changes_of,
    coverage_notes,
    history_of,
    kept_reading,
    measured_of,
    measured_on,
    merged_reading,
    page_host,
    settled_of,
)
from vnicaudit.reports.page.render import HtmlPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vnicaudit.history.fleet_state import FleetState
    from vnicaudit.model.ranking import MeasuredGain

FIRST = 10
"""Changes of the ranking shown on the page."""
_MOST_NOTES = 2000
_KEPT_AT_ONCE = 8
"""Stored readings held in memory at the same time."""


def history_page(state: FleetState, gains: Sequence[MeasuredGain], folder: SpoolFolder) -> bytes:
    """The page of a fleet. ``folder``: the stored readings."""
    return "".join(_LivePage(state, folder).pieces(gains)).encode()


class _HeldHost(NamedTuple):
    """A host, the marks of its findings by fingerprint, and its stored reading. ``whole``: the
    reading for the page, if the stored one is complete; else None."""

    host: FleetHost
    marks: Mapping[str, FindingMark]
    stored: HostReading | None
    whole: HostReading | None


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
            self._page.add_settled(settled_of(one))
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
            rules=tuple(PageRule(one.id, one.name, one.summary) for one in rules),
            changes=changes_of(summary),
            trend=summary.audits,
            ranking=ranking,
            rules_asked=summary.rules,
            rules_left_out=tuple(sorted(set(catalogue.ids) - set(summary.rules))),
        )
        yield from self._page.finish(about, end)

    def _readings_into_page(self, hosts: Sequence[FleetHost]) -> Iterator[HostReading]:
        """The reading of each host, added to the page as it passes."""
        for host, marks, reading in self._readings_of(hosts):
            self._note(host, reading)
            past = history_of(marks)
            subjects = zip(subjects_of(reading), reading.audited, strict=True)
            for subject, audited in subjects:
                self._page.add(
                    replace(
                        subject,
                        history=past,
                        measured=measured_on(audited, self._measured),
                        read_at="" if host.is_fresh else host.read_at or "",
                    )
                )
            yield reading

    def _readings_of(
        self, hosts: Sequence[FleetHost]
    ) -> Iterator[tuple[FleetHost, Mapping[str, FindingMark], HostReading]]:
        """Each host with its marks and its reading. Several are collected first, so that one query
        of the history completes the readings that are not stored completely."""
        for group in self._state.groups(hosts):
            held: list[_HeldHost] = []
            kept_readings = 0
            for host, marks in self._state.marks_on(group):
                stored = self._readings.of(host)
                whole = None if stored is None else kept_reading(stored, host, marks)
                held.append(_HeldHost(host, marks, stored, whole))
                kept_readings += stored is not None
                if kept_readings >= _KEPT_AT_ONCE:
                    yield from self._completed(held)
                    held, kept_readings = [], 0
            yield from self._completed(held)

    def _completed(
        self, held: Sequence[_HeldHost]
    ) -> Iterator[tuple[FleetHost, Mapping[str, FindingMark], HostReading]]:
        """Everything known about these hosts: the stored reading, completed from the history if
        necessary."""
        incomplete = [one.host for one in held if one.whole is None]
        known, nics = self._state.open_on(incomplete), self._state.nics_on(incomplete)
        for host, marks, stored, whole in held:
            if whole is None:
                (_host, findings), (_same, rows) = next(known), next(nics)
                yield host, marks, merged_reading(host, findings, stored, rows)
            else:
                yield host, marks, whole

    def _note(self, host: FleetHost, reading: HostReading) -> None:
        self._hosts.append(page_host(host, reading))
        self._untried += not host.is_tried
        if host.audit is None:
            error = host.error or "not part of any audit yet"
            self._notes.append(PageNote("not read", host.name, error))
        elif host.is_fresh and len(self._notes) < _MOST_NOTES:
            self._notes += notes_of(reading)


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
            self._audits[name] = None if spool is None else (spool, _places(spool))
        return self._audits[name]


def _places(spool: AuditSpool) -> dict[str, int]:
    return {name: place for place, name in enumerate(spool.audit().chosen_hosts)}
