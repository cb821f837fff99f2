"""One HTML page, for people: the answer first, then every NIC and finding to search and sort.

It needs nothing but itself and can be sent by mail. Everything waits in temporary files for the
end, since the answer comes first (:mod:`vnicaudit.reports.page`).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Tool
from vnicaudit.reports.page.data import PageAbout
from vnicaudit.reports.page.from_audit import AuditNotes, subject_of
from vnicaudit.reports.page.render import HtmlPage
from vnicaudit.reports.writer import Options, ReportWriter

FORMAT = "html"
SUMMARY = "one page to read, search and send by mail"
NAMES_NOT_JUDGED = True
NEEDS_ROWS = True


def writer(options: Options) -> ReportWriter:
    """A writer of a page; no option changes what it says."""
    del options
    return _Html()


class _Html:
    def __init__(self) -> None:
        self._notes = AuditNotes()
        self._run = RunInfo(Tool("vnicaudit", ""), "", tuple)
        self._page = HtmlPage()

    def start(self, run: RunInfo) -> str:
        self._run = run
        return ""

    def add(self, audited: Audited) -> str:
        self._notes.add(audited)
        self._page.add(subject_of(audited))
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        named = [one.target for one in end.targets]
        title = f"Audit of {named[0] if len(named) == 1 else count(len(named), 'target')}"
        word = "host" if named and all("://" in name for name in named) else "target"
        run = self._run
        about = PageAbout(
            title=title, tool=run.tool, started=run.started, host_word=word, coverage=end.coverage
        )
        yield from self._page.finish(about, self._notes.end_of(end, self._run.rules()))
