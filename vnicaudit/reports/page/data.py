"""Input of the page: independent of where it comes from, an audit's stream or a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from vnicaudit.model.finding import Finding
from vnicaudit.model.fleet import Coverage
from vnicaudit.model.history import AuditSummary
from vnicaudit.model.page_memory import NO_MEMORY as NO_MEMORY
from vnicaudit.model.page_memory import FindingHistory as FindingHistory
from vnicaudit.model.page_memory import FindingState as FindingState
from vnicaudit.model.page_memory import PageChanges as PageChanges
from vnicaudit.model.page_memory import PageMemory as PageMemory
from vnicaudit.model.page_memory import PageSettled as PageSettled
from vnicaudit.model.page_memory import SettledState as SettledState
from vnicaudit.model.ranking import Ranking
from vnicaudit.model.report import NicRow, Tool


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


class PageData(msgspec.Struct, frozen=True, kw_only=True):
    """All that a page shows. ``subjects`` is gone through once; they may be made on the way."""

    about: PageAbout
    subjects: Iterable[PageSubject]
    end: PageEnd
    settled: tuple[PageSettled, ...] = ()
