"""Input of the page: independent of where it comes from, an audit's stream or a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from vnicaudit.model.finding import Finding
from vnicaudit.model.fleet import Coverage
from vnicaudit.model.history import AuditSummary
from vnicaudit.model.ranking import Ranking
from vnicaudit.model.report import NicRow, Tool

FindingState = Literal["", "new", "known", "reopened", "returned", "moved", "not looked at"]
"""Of an open finding, against the audit before; empty: there is nothing to compare with."""
SettledState = Literal["fixed", "gone", "suppressed", "in the baseline"]
"""Of a finding that is no problem any more, or that somebody accepted."""


class PageAbout(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that are known before anything is read. ``live``: the page is served, and what it
    shows may have changed when it is loaded again."""

    title: str
    tool: Tool
    started: str
    """UTC, RFC 3339."""
    coverage: Coverage | None = None
    """None: everything that was named was to be looked at."""
    host_word: str = "host"
    """What the view of hosts calls one of them."""
    live: bool = False


class FindingHistory(msgspec.Struct, frozen=True):
    """The past of an open finding. ``first_seen``: UTC, RFC 3339."""

    state: FindingState = ""
    first_seen: str = ""


class PageSubject(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was audited (a domain, a host, an image, a file…), with its NICs and its open
    findings. Empty strings: not known, or there is no such thing."""

    name: str
    scope: str
    target: str
    """As the user named it."""
    host: str
    """What it is grouped by in the view of hosts: a host, or the target."""
    uuid: str | None = None
    site: str = ""
    owner: str = ""
    server: str = ""
    image: str = ""
    flavor: str = ""
    project: str = ""
    nics: int = 0
    """Those that ``rows`` lacks too."""
    rows: tuple[NicRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    history: Mapping[str, FindingHistory] = {}
    """By the fingerprint of the finding."""
    measured: Mapping[int, str] = {}
    """Index of a NIC -> a sentence on what a benchmark measured on it."""
    read_at: str = ""
    """UTC, RFC 3339, where it is not of this audit: a host that could not be read keeps its last
    state."""


class PageHost(msgspec.Struct, frozen=True, kw_only=True):
    """How reading one host or target went. ``stale_since``: when it was read last, where it was not
    read this time and its last state is shown."""

    name: str
    status: Literal["ok", "partial", "failed"]
    site: str = ""
    error: str = ""
    domains: int = 0
    nics: int = 0
    stale_since: str = ""
    was_tried: bool = True
    """False: it was not to be read this time."""


class PageSettled(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that is not open: it was fixed, or what it was about is gone (``until``: since
    when, UTC, RFC 3339), or it is accepted (``reason``: why)."""

    state: SettledState
    severity: str
    rule: str
    name: str
    subject: str
    host: str
    site: str
    owner: str
    mac: str
    message: str
    reason: str = ""
    first_seen: str = ""
    until: str = ""


class PageNote(msgspec.Struct, frozen=True):
    """Something that was not judged, not read, or is worth knowing: where, and why."""

    kind: Literal["not read", "not judged", "crashed", "note"]
    place: str
    message: str


class PageRule(msgspec.Struct, frozen=True):
    """A rule in words."""

    id: str
    name: str
    summary: str


class PageChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Differences to the audit before. ``unseen``: findings that nobody looked at this time, which
    are open as far as is known."""

    since: str
    """When the audit before was, UTC, RFC 3339."""
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
    unseen: int = 0
    nics_added: int = 0
    nics_removed: int = 0


class PageEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that are known when everything was read."""

    finished: str
    hosts: tuple[PageHost, ...] = ()
    notes: tuple[PageNote, ...] = ()
    rules: tuple[PageRule, ...] = ()
    changes: PageChanges | None = None
    """None: there is no audit before."""
    trend: tuple[AuditSummary, ...] = ()
    """The audits that are remembered, oldest first, this one included."""
    ranking: Ranking | None = None
    """The changes to make first; None: nobody ranked them."""
    rules_asked: tuple[str, ...] = ()
    rules_left_out: tuple[str, ...] = ()
    """Ids: rules of this program that were not asked."""
    accepted: str = ""
    """A sentence on findings that are suppressed or known from a baseline."""


class PageMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge beside an audit's own stream, of a fleet that is remembered. ``hosts``: target
    -> name and site of a host in the inventory."""

    hosts: Mapping[str, tuple[str, str]] = {}
    findings: Mapping[str, FindingHistory] = {}
    """By fingerprint."""
    unknown: FindingHistory = FindingHistory()
    """Of a finding that is not among these."""
    changes: PageChanges | None = None
    trend: tuple[AuditSummary, ...] = ()
    settled: tuple[PageSettled, ...] = ()
    """Fixed and gone ones."""
    ranking: Ranking | None = None
    rules_left_out: tuple[str, ...] = ()


NO_MEMORY = PageMemory()


class PageData(msgspec.Struct, frozen=True, kw_only=True):
    """All that a page shows. ``subjects`` is gone through once; they may be made on the way."""

    about: PageAbout
    subjects: Iterable[PageSubject]
    end: PageEnd
    settled: tuple[PageSettled, ...] = ()
