"""How reports are written: their options, and the interface of a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from vnicaudit.model.finding import Confidence, Finding
from vnicaudit.model.report import Audited, RunEnd, RunInfo

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.owners import Wordings
    from vnicaudit.model.ranking import PageMemory
    from vnicaudit.text.edits import Replacement

View = Literal["auto", "short", "full"]
SortBy = Literal["severity", "number", "name"]
GroupBy = Literal["rule", "domain", "host", "owner", "image", "flavor", "project"]
GROUP_BY: tuple[GroupBy, ...] = get_args(GroupBy)

_SHIPPED = r"(?a)VNIC\d{3}"


Replacements = Callable[[Finding], "Sequence[Replacement]"]
"""The edits that fix a finding in its file; empty if it cannot be fixed there."""


class Options(msgspec.Struct, frozen=True):
    """How to write a report. ``width``: in columns. ``color`` False: no escape sequences at all.
    ``fail_confidence``: findings of lower confidence do not fail the run. ``group_by``: property by
    which equal findings are grouped (:mod:`vnicaudit.reports.grouped`); empty: not
    grouped. ``wordings``: wordings of fixes for each owner, required by ``group_by`` and ``view``,
    where one fix is worded for several subjects. ``view``: each finding (``full``), equal ones once
    (``short``), or the shorter of both (``auto``). ``sort``: order of groups. ``most``: maximum
    groups, or worst findings, to show; the others are counted."""

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
    targets: str = ""
    """The words of a command that name the inventory of a fleet, or stand for redacted targets;
    empty: the targets of findings are named."""
    domain_words: str = ""
    """The options of a command that select the audited domains, each after a blank."""
    quotes: bool = False
    """Show the line of its file below each finding."""
    docs_url: str = ""
    """Base URL of the published documentation; empty: unknown."""
    links: bool = False
    """Write rule ids as terminal hyperlinks to their pages."""
    replacements: Replacements | None = None
    """None: fixes in files are not known."""
    memory: Callable[[], PageMemory] | None = None
    """For a fleet, known facts other than those of its audit; called at the start and at the end of
    a report."""

    def page_to_link(self, rule: str) -> str:
        """The address to which the id of a rule links; empty: no link."""
        return rule_page(self.docs_url, rule) if self.links else ""


def rule_page(docs_url: str, rule: str) -> str:
    """The address of a rule's page; empty if ``docs_url`` is empty, and for rules that are not
    built in, which have no page."""
    if not docs_url or re.fullmatch(_SHIPPED, rule) is None:
        return ""
    return f"{docs_url.rstrip('/')}/rules/{rule}.html"


class ReportWriter:
    """Turns the events of one audit into text, piece by piece, in bounded memory.

    All text can be encoded as UTF-8, whatever bytes file names contain.
    """

    def __init__(self, options: Options) -> None:
        self._options = options

    def start(self, run: RunInfo) -> str:
        """Return the start; nothing has been audited yet."""
        del run
        return ""

    def add(self, audited: Audited) -> str:
        """Return the text for one domain or host; may be empty."""
        raise NotImplementedError

    def finish(self, end: RunEnd) -> Iterator[str]:
        """Yield the end, in pieces: totals, the result of each target, and everything that had to
        wait for its place in the document. Called once."""
        raise NotImplementedError
