"""One HTML page for people: the answer first, then every NIC and finding to search and sort.

It is self-contained and can be sent by mail. All contents wait in temporary files until the end,
because the answer comes first (:mod:`vnicaudit.reports.page`).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.ranking import NO_MEMORY, PageMemory
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Tool
from vnicaudit.reports.page.from_audit import (
    AuditNotes,
    PageAbout,
    accepted_of,
    with_memory,
)
from vnicaudit.reports.page.summary import HtmlPage
from vnicaudit.reports.writers import Options, ReportWriter


class HtmlWriter(ReportWriter):
    """Writes a page, including the known state of a fleet."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._memory = NO_MEMORY
        self._notes = AuditNotes()
        self._run = RunInfo(Tool("vnicaudit", ""), "", tuple)
        self._page = HtmlPage()

    def _ask(self) -> PageMemory:
        """Everything known beside the audit; nothing if its results are not stored."""
        memory = self._options.memory
        return NO_MEMORY if memory is None else memory()

    def start(self, run: RunInfo) -> str:
        self._run = run
        self._memory = self._ask()
        return ""

    def add(self, audited: Audited) -> str:
        self._notes.add(audited)
        for one in accepted_of(audited):
            self._page.add_settled(one)
        self._page.add(with_memory(audited, self._memory))
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        named = [one.target for one in end.targets]
        title = f"Audit of {named[0] if len(named) == 1 else count(len(named), 'target')}"
        word = "host" if named and all("://" in name for name in named) else "target"
        run = self._run
        about = PageAbout(
            title=title, tool=run.tool, started=run.started, host_word=word, coverage=end.coverage
        )
        memory = self._ask()
        for one in memory.settled:
            self._page.add_settled(one)
        yield from self._page.finish(about, self._notes.end_of(end, run.rules(), memory))
