"""Text for people: findings by domain, or equal ones grouped with the worst first, and the
totals."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.audit.kinds import KINDS
from vnicaudit.model.finding import name_of
from vnicaudit.model.report import Audited, RunEnd
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.ending import Ending
from vnicaudit.reports.findings import FindingText, GroupedText
from vnicaudit.reports.grouped import WorstFindings
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import about_domain
from vnicaudit.reports.writers import Options, ReportWriter

FEW = 10
"""Up to this number, findings are shown one by one by default."""
_CRASHES = 20
_NAMES_REPEAT = "openstack:"
"""Start of targets in which domains may share a name, so that the UUID is needed to distinguish
them."""


class TextWriter(ReportWriter):
    """Writes findings as they arrive if each is shown, or the worst ones at the end if their number
    is limited. If equal findings are grouped, the answer comes first. If the choice depends on the
    number of findings, the first few wait until it is known."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._entry = FindingText(options)
        self._tally = Tally()
        self._view = "short" if options.group_by else options.view
        if self._view == "auto" and (options.verbose or options.wordings is None):
            self._view = "full"
        self._waiting: list[Audited | str] = []
        """The first few with findings; text of what only crashed, which may be many."""
        self._crashes: list[str] = []
        self._grouped = GroupedText(options) if self._view == "short" else None
        self._worst = None if options.most is None else WorstFindings(options.most)

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        if self._worst is not None and self._grouped is None:
            self._worst.add(audited)
        if self._view == "full":
            return self._whole(audited)
        self._note_crashes(audited)
        if self._grouped is not None:
            self._grouped.add(audited)
        else:
            self._wait(audited)
        return ""

    def _wait(self, audited: Audited) -> None:
        """Keep the first few, and group them once there are more."""
        if audited.findings:
            self._waiting.append(audited)
        elif audited.crashed:
            self._waiting.append(self._whole(audited))
        if self._tally.findings.total() > FEW:
            self._grouped = GroupedText(self._options)
            for each in self._waiting:
                if not isinstance(each, str):
                    self._grouped.add(each)
            self._waiting.clear()

    def finish(self, end: RunEnd) -> Iterator[str]:
        if self._grouped is not None:
            yield from self._brief(self._grouped, end)
            return
        ending = Ending(self._tally, end, self._options)
        is_first = self._view == "auto" and bool(self._waiting)  # nothing was written yet
        if is_first:
            yield from ending.answer()
        for each in self._waiting:
            yield each if isinstance(each, str) else self._whole(each)
        if self._worst is not None:
            yield from self._worst_entries(self._worst)
            yield from ending.left_out(self._tally.findings.total() - len(self._worst))
        yield from ending.whole(with_answer=not is_first)

    def _brief(self, grouped: GroupedText, end: RunEnd) -> Iterator[str]:
        ending = Ending(self._tally, end, self._options)
        yield from ending.answer()
        yield from grouped.text(end.targets)
        yield from self._crashes
        yield from ending.brief(grouped.first_rule)

    def _note_crashes(self, audited: Audited) -> None:
        if audited.crashed and len(self._crashes) < _CRASHES:
            crashed = "".join(map(self._entry.crashed, audited.crashed))
            self._crashes.append(f"{self._header(audited)}{crashed}\n")

    def _whole(self, audited: Audited) -> str:
        entries = "".join(self._entries(audited))
        is_later = bool(self._worst is not None and audited.findings)
        if not entries and (is_later or not self._options.verbose):
            return ""
        return f"{self._header(audited)}{entries or '  no findings' + chr(10)}\n"

    def _entries(self, audited: Audited) -> Iterator[str]:
        if self._worst is None:
            yield from map(self._entry.finding, audited.findings)
        yield from map(self._entry.crashed, audited.crashed)
        if self._options.verbose:
            yield from map(self._entry.suppressed, audited.suppressed)
            yield from map(self._entry.skipped, audited.skipped)

    def _worst_entries(self, worst: WorstFindings) -> Iterator[str]:
        for audited, findings in worst.by_subject():
            yield f"{self._header(audited)}{''.join(map(self._entry.finding, findings))}\n"

    def _header(self, audited: Audited) -> str:
        about = ", ".join(_about(audited, verbose=self._options.verbose))
        return Pen(self._options).titled(audited.title, about)


def _about(audited: Audited, *, verbose: bool) -> Iterator[str]:
    """Parts of the header line after the name."""
    if audited.scope == "domain":
        yield from about_domain(audited)
        if audited.uuid and (verbose or audited.target.startswith(_NAMES_REPEAT)):
            yield audited.uuid
    else:
        owner = name_of(audited.owner)
        yield "host" if audited.scope == "host" else f"{owner}, {KINDS[audited.scope].title}"
        if audited.uuid:
            yield audited.uuid
