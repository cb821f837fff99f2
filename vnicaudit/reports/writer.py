"""The contract of a report writer: an audit is a stream, and so is its report.

A format is a module in :mod:`vnicaudit.reports.formats` that has ``FORMAT`` (its name on the
command line and its file's name), ``SUMMARY`` (one line for ``--help``), ``NAMES_NOT_JUDGED``
(whether a report names the parts of files that were not judged: where it does not, the command
line says so), ``TELLS_FILTERED`` (the same of the number of findings that a filter left out),
``NEEDS_ROWS`` (whether it shows every NIC, wrong or not: the audit hands on their
rows then) and ``writer(options)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import msgspec

from vnicaudit.model.finding import Confidence, Finding
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.subjects import rule_page
from vnicaudit.text.edits import Replacement

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.owners import Wordings
    from vnicaudit.model.page_memory import PageMemory


View = Literal["auto", "short", "full"]
VIEWS: tuple[View, ...] = get_args(View)
SortBy = Literal["severity", "number", "name"]
SORT_BY: tuple[SortBy, ...] = get_args(SortBy)


Replacements = Callable[[Finding], Sequence[Replacement]]
"""The edits that fix a finding in the file that it names; empty where it cannot be fixed there."""


class Options(msgspec.Struct, frozen=True):
    """How to say it. ``width`` in columns; ``color`` False: no escape sequence at all;
    ``fail_confidence``: findings of less do not fail the run; ``group_by``: what is equal
    is put together by that (:mod:`vnicaudit.reports.findings.grouped`), empty: each by itself;
    ``wordings``: how fixes are worded for each owner, which ``group_by`` and ``view`` need: there
    one is said for several. ``view``: of a text each finding (``full``), equal ones once
    (``short``), or what is the shorter (``auto``). ``sort``: the order of groups; ``most``:
    groups, or worst findings, that are shown; the others are counted."""

    width: int = 80
    color: bool = False
    verbose: bool = False
    quiet: bool = False
    fail_confidence: Confidence = "medium"
    group_by: str = ""
    wordings: Wordings | None = None
    view: View = "full"
    sort: SortBy = "severity"
    most: int | None = None
    docs_url: str = ""
    """The address of the published documentation; empty: unknown."""
    links: bool = False
    """Rule ids are links to their pages, as terminals show them."""
    replacements: Replacements | None = None
    """None: nothing is known of the files."""
    memory: Callable[[], PageMemory] | None = None
    """For a fleet, what is known besides its audit: used at the start and at the end of a
    report."""

    def page_to_link(self, rule: str) -> str:
        """The address that the id of a rule leads to; empty: none."""
        return rule_page(self.docs_url, rule) if self.links else ""


class ReportWriter(Protocol):
    """Turns the events of one audit into text, piece by piece, in bounded memory.

    All text can be encoded as UTF-8, whatever bytes file names were made of.
    """

    def start(self, run: RunInfo) -> str:
        """Return the beginning; nothing has been audited yet."""

    def add(self, audited: Audited) -> str:
        """Return the text for one domain or host; may be empty."""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """Yield the end, in pieces, with totals and the result of each target, and everything that
        had to wait for its place in the document. Called once."""


class Format(Protocol):
    """The attributes that a module of :mod:`vnicaudit.reports.formats` has."""

    FORMAT: str
    SUMMARY: str
    NAMES_NOT_JUDGED: bool
    TELLS_FILTERED: bool
    NEEDS_ROWS: bool

    def writer(self, options: Options) -> ReportWriter:
        """A fresh writer for one report."""
