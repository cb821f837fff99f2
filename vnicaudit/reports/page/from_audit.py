"""Converts the stream of an audit into input of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.model.finding import Crashed, Finding, name_of
from vnicaudit.model.fleet import Coverage
from vnicaudit.model.history import AuditSummary, FindingRecord
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.ranking import NO_MEMORY, FindingHistory, PageChanges, PageMemory, Ranking
from vnicaudit.model.report import Audited, Placed, RunEnd, TargetResult, Tool
from vnicaudit.reports.as_html import text
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import (
    accepted_sentence,
    coverage_sentence,
    not_judged_of,
    skip_sentences,
    subject_label,
    unread_of,
)

# Input of the page, independent of its origin: the stream of an audit, or a history.


class PageAbout(msgspec.Struct, frozen=True, kw_only=True):
    """Facts known before anything is read. ``live``: the page is served, and reloading it may show
    newer results."""

    title: str
    tool: Tool
    started: str
    """UTC, RFC 3339."""
    coverage: Coverage | None = None
    """None: all named targets were to be audited."""
    host_word: str = "host"
    """Word for an entry in the view of hosts."""
    live: bool = False


class PageSubject(NamedTuple):
    """The results for a subject (a domain, a host, an image, a file…), and what is known about it
    beside them. Empty strings: not known, or not applicable."""

    audited: Audited
    host: str
    """Group in the view of hosts: a host, or the target."""
    site: str = ""
    history: Mapping[str, FindingHistory] = {}
    """Fingerprint of a finding -> its history."""
    measured: Mapping[int, str] = {}
    """Index of a NIC -> a sentence on what a benchmark measured on it."""
    read_at: str = ""
    """UTC, RFC 3339, if the state is not from this audit: a host that could not be read keeps its
    last state."""


class PageHost(msgspec.Struct, frozen=True, kw_only=True):
    """Result of reading one host or target. ``stale_since``: when it was last read, if it was not
    read this time and its last state is shown."""

    name: str
    status: Literal["ok", "partial", "failed"]
    site: str = ""
    error: str = ""
    domains: int = 0
    nics: int = 0
    stale_since: str = ""
    was_tried: bool = True
    """False: this audit did not include it."""


class PageNote(msgspec.Struct, frozen=True):
    """A note on something that was not judged, not read, or is worth knowing: its place and the
    reason."""

    kind: Literal["not read", "not judged", "crashed", "note"]
    place: str
    message: str


class PageEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Facts known when everything has been read."""

    finished: str
    hosts: tuple[PageHost, ...] = ()
    notes: tuple[PageNote, ...] = ()
    rules: tuple[RuleInfo, ...] = ()
    changes: PageChanges | None = None
    """Differences from the previous audit; None: there is none."""
    trend: tuple[AuditSummary, ...] = ()
    """The stored audits, oldest first, including this one."""
    ranking: Ranking | None = None
    """The changes to make first; None: no ranking was made."""
    rules_asked: tuple[str, ...] = ()
    rules_left_out: tuple[str, ...] = ()
    """Ids of shipped rules that did not run."""
    accepted: str = ""
    """A sentence on findings that are suppressed or known from a baseline."""


_NOWHERE = Placed()
_CRASHES = 200
"""Maximum crashed rules listed; the others are counted."""


class AuditNotes:
    """Collects notes on parts of an audit that could not be judged, in bounded memory."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._crashed: list[PageNote] = []
        self._crashes = 0

    def add(self, audited: Audited) -> None:
        """Note the parts of a subject that were not judged."""
        self._tally.add(audited)
        for crashed in audited.crashed:
            self._crashes += 1
            if len(self._crashed) < _CRASHES:
                self._crashed.append(_crash(audited, crashed))

    def end_of(self, end: RunEnd, rules: Iterable[RuleInfo], memory: PageMemory) -> PageEnd:
        """The end of an audit as input of the page, with the known state of its fleet."""
        met = {rule for _severity, rule, _name in self._tally.findings}
        return PageEnd(
            finished=end.finished,
            hosts=tuple(page_host(one, *memory.hosts.get(one.target, ())) for one in end.targets),
            notes=tuple(self._notes(end)),
            rules=tuple(one for one in rules if one.id in met),
            changes=memory.changes,
            trend=memory.trend,
            ranking=memory.ranking,
            rules_asked=() if end.coverage is None else end.coverage.rules,
            rules_left_out=memory.rules_left_out,
            accepted=accepted_sentence(end),
        )

    def _notes(self, end: RunEnd) -> Iterator[PageNote]:
        for target in end.targets:
            yield from host_notes(target)
        yield from self._crashed
        if (more := self._crashes - len(self._crashed)) > 0:
            yield PageNote("crashed", "", f"{more:,} more")
        for sentence in skip_sentences(self._tally):
            yield PageNote("not judged", "", sentence)


def host_of_subject(audited: Audited) -> str:
    """The group of a subject in the view of hosts, as far as its results tell."""
    return (audited.placed or _NOWHERE).host or audited.target


def accepted_of(audited: Audited) -> Iterator[FindingRecord]:
    """The findings on a subject that are suppressed or in the baseline."""
    for one in audited.suppressed:
        yield _accepted(audited, one.finding, "suppressed", one.reason)
    for finding in audited.baselined:
        yield _accepted(audited, finding, "in the baseline", "")


def with_memory(audited: Audited, memory: PageMemory) -> PageSubject:
    """The results for a subject with its host's name and site, and the history of its findings."""
    name, site = memory.hosts.get(audited.target, (host_of_subject(audited), ""))
    if memory is NO_MEMORY:
        return PageSubject(audited, name, site)
    past = {
        one.fingerprint: memory.findings.get(one.fingerprint, memory.unknown)
        for one in audited.findings
    }
    return PageSubject(audited, name, site, past)


def _accepted(audited: Audited, one: Finding, state: str, reason: str) -> FindingRecord:
    change = one.change
    return FindingRecord(
        state=state, host=host_of_subject(audited), site="", rule=one.rule, name=one.name,
        severity=one.severity, confidence=one.confidence, owner=name_of(one.owner),
        message=one.message, scope=audited.scope, subject=audited.title, uuid=audited.uuid,
        mac=one.about.mac, nic_index=one.about.index, file=audited.file,
        field=None if change is None else change.field, old=None if change is None else change.old,
        new=None if change is None else change.new, safe=change is not None and change.safe,
        reason=reason, fingerprint=one.fingerprint, first_seen="", until=None,
    )  # fmt: skip


def host_notes(target: TargetResult) -> Iterator[PageNote]:
    """Notes on the parts of a target that were not read or not judged, then its other notes."""
    for error in unread_of(target):
        yield PageNote("not read", error.place, error.message)
    for part in not_judged_of(target):
        yield PageNote("not judged", part.place, part.message)
    for note in target.notes:
        yield PageNote("note", target.target, note)


def _crash(audited: Audited, crashed: Crashed) -> PageNote:
    return PageNote(
        "crashed", subject_label(audited.title, crashed.about), f"{crashed.rule}: {crashed.error}"
    )


def page_host(target: TargetResult, name: str = "", site: str = "") -> PageHost:
    """Result of reading one host or target, by its name in the inventory."""
    return PageHost(
        name=name or target.target,
        status=target.status,
        site=site,
        error=target.error or "",
        domains=target.domains,
        nics=target.nics,
    )


# The part of the page on what was not checked, and why.


_NOTES = 400


def sample_of(about: PageAbout) -> str:
    """``Only a part was audited: a sample of 5% of the hosts…``; empty if everything was to be
    audited."""
    part = coverage_sentence(about.coverage)
    return f"Only a part was audited: {part}. All numbers are for that part." if part else ""


def coverage_parts(about: PageAbout, end: PageEnd) -> Iterator[str]:
    """The section as HTML, in pieces."""
    yield '<section>\n<h1 class="plain">What was not checked, and why</h1>\n'
    sample = sample_of(about)
    yield f'<p class="notice">{text(sample)}</p>\n' if sample else ""
    notes = [*unread_hosts(end), *end.notes]
    if not notes and not sample:
        yield "<p>Everything named was read and judged.</p>\n"
    for kind, title in _TITLES.items():
        yield from _notes(title, [note for note in notes if note.kind == kind])
    yield from _rules("Rules skipped", end.rules_left_out)
    yield from _rules("Rules checked", end.rules_asked)
    yield "</section>"


_TITLES = {
    "not read": "Not read", "crashed": "Not judged: a rule failed", "not judged": "Not judged",
    "note": "Notes",
}  # fmt: skip


def _rules(title: str, rules: Sequence[str]) -> Iterator[str]:
    if rules:
        yield f'<h2>{title} <span class="quiet small">{len(rules):,}</span></h2>\n'
        yield f"<p>{text(', '.join(rules))}</p>\n"


def unread_hosts(end: PageEnd) -> Iterator[PageNote]:
    """Hosts that could not be read, so that their last state is shown. Hosts excluded from this
    audit are counted in a note of the audit."""
    for host in end.hosts:
        if host.stale_since and host.was_tried:
            message = f"{host.error or 'not read'}; shown as read on {moment(host.stale_since)}"
            yield PageNote("not read", host.name, message)


def _notes(title: str, notes: list[PageNote]) -> Iterator[str]:
    if not notes:
        return
    yield f'<h2>{text(title)} <span class="quiet small">{len(notes):,}</span></h2>\n'
    yield '<ul class="notes">\n'
    for note in islice(notes, _NOTES):
        place = f"<code>{text(note.place)}</code> " if note.place else ""
        yield f"<li>{place}{text(note.message)}</li>\n"
    if (more := len(notes) - _NOTES) > 0:
        yield f"<li>{more:,} more: the JSON report has each</li>\n"
    yield "</ul>\n"


def moment(stamp: str) -> str:
    """``26 Nov 2026 11:20 UTC``; anything that is not a time stamp is unchanged."""
    try:
        read = datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return stamp
    return f"{read.day} {_MONTHS[read.month - 1]} {read:%Y %H:%M} UTC"


_MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
