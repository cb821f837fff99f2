"""Input of the page, independent of its origin: the stream of an audit, or a history."""

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


class PageSubject(msgspec.Struct, frozen=True, kw_only=True):
    """An audited subject (a domain, a host, an image, a file…), with its NICs and open findings.
    Empty strings: not known, or not applicable."""

    name: str
    scope: str
    target: str
    """As the user named it."""
    host: str
    """Group in the view of hosts: a host, or the target."""
    uuid: str | None = None
    site: str = ""
    owner: str = ""
    server: str = ""
    image: str = ""
    flavor: str = ""
    project: str = ""
    nics: int = 0
    """Number of NICs, including those missing in ``rows``."""
    rows: tuple[NicRow, ...] = ()
    findings: tuple[Finding, ...] = ()
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


class PageRule(msgspec.Struct, frozen=True):
    """A rule's name and summary."""

    id: str
    name: str
    summary: str


class PageEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Facts known when everything has been read."""

    finished: str
    hosts: tuple[PageHost, ...] = ()
    notes: tuple[PageNote, ...] = ()
    rules: tuple[PageRule, ...] = ()
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


class PageData(msgspec.Struct, frozen=True, kw_only=True):
    """Everything shown on a page. ``subjects`` is iterated once and may be a generator."""

    about: PageAbout
    subjects: Iterable[PageSubject]
    end: PageEnd
    settled: tuple[PageSettled, ...] = ()
