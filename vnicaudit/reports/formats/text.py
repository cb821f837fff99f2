"""Text for people: findings by domain, or equal ones grouped with the worst first, and the
totals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from vnicaudit.base.wording import count
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.findings.ending import Ending
from vnicaudit.reports.findings.grouped import FindingGroup, groups_of
from vnicaudit.reports.findings.worst import WorstFindings
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wording import about_domain
from vnicaudit.reports.wrap import Piece, title_line, wrap
from vnicaudit.reports.writer import Options, ReportWriter

if TYPE_CHECKING:
    from vnicaudit.reports.findings.finding_text import FindingText

FORMAT = "text"
SUMMARY = "for people: by domain, or by rule if there are many findings"
NAMES_NOT_JUDGED = True
TELLS_FILTERED = True
NEEDS_ROWS = False

FEW = 10
"""Up to this number, findings are shown one by one by default."""
_LINES = 46
"""Lines for rules with message, fix and names; each further rule takes one line."""
_CRASHES = 20
_NAMES_REPEAT = "openstack:"
"""Start of targets in which domains may share a name, so that the UUID is needed to distinguish
them."""

_WHAT = {
    "config": "configuration", "image": "image", "flavor": "flavor", "preference": "preference",
    "site": "compute node", "mac": "shared MAC address",
}  # fmt: skip


def writer(options: Options) -> ReportWriter:
    """A text writer for a terminal of that width, with or without colour."""
    return _AuditText(options)


class _AuditText:
    """Writes findings as they arrive if each is shown, or the worst ones at the end if their number
    is limited. If equal findings are grouped, the answer comes first. If the choice depends on the
    number of findings, the first few wait until it is known."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._width = options.width
        self._paint = Paint(color=options.color)
        self._tally = Tally()
        self._view = "short" if options.group_by else options.view
        if self._view == "auto" and (options.verbose or options.wordings is None):
            self._view = "full"
        self._groups = groups_of(options, by_rule=self._view != "full")
        self._waiting: list[str] = []
        self._crashes: list[str] = []
        self._worst = None if options.most is None else WorstFindings(options.most)

    @cached_property
    def _entry(self) -> FindingText:
        from vnicaudit.reports.findings.finding_text import (
            FindingText,  # loaded on the first entry
        )

        return FindingText(self._options, self._paint)

    def start(self, run: RunInfo) -> str:
        del run
        return ""

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        if self._groups is not None:
            self._groups.add(audited)
        if self._view == "short":
            self._note_crashes(audited)
            return ""
        if self._worst is not None:
            self._worst.add(audited)
        text = self._whole(audited)
        if self._view == "full":
            return text
        self._note_crashes(audited)
        self._waiting.append(text)
        if self._tally.findings.total() > FEW:
            self._view = "short"
            self._waiting.clear()
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        yield from filter(None, self._waiting)
        ending = Ending(self._tally, end, self._options, self._paint)
        if self._view != "short":
            if self._worst is not None:
                yield from self._worst_entries(self._worst)
                yield from ending.left_out(self._tally.findings.total() - len(self._worst))
            yield from ending.whole()
            return
        yield from ending.answer()
        yield from self._grouped()
        yield from self._crashes
        yield from ending.brief()

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

    def _grouped(self) -> Iterator[str]:
        groups = list(self._groups.groups()) if self._groups is not None else []
        most = len(groups) if self._options.most is None else self._options.most
        by_rule = self._options.group_by in ("", "rule")
        unbounded = self._options.verbose or not by_rule or self._options.most is not None
        lines, in_full = 0, 0
        for group in groups[:most]:
            text = self._group(group)
            lines += text.count("\n")
            if in_full and not unbounded and lines > _LINES:
                break
            in_full += 1
            yield text
        rest = groups[in_full:most]
        yield from (self._entry.one_line(*group.rules[0], group.about) for group in rest)
        yield "\n" if rest else ""
        if hidden := groups[most:]:
            yield self._hidden(hidden)

    def _hidden(self, groups: list[FindingGroup]) -> str:
        problems = sum(same.count for group in groups for _key, same in group.rules)
        text = f"… {count(problems, 'more problem')} in {count(len(groups), 'more group')} (--max)"
        return wrap(text, self._width, "", "  ") + "\n"

    def _group(self, group: FindingGroup) -> str:
        if not group.name:
            return "".join(self._entry.group(*rule, group.about) for rule in group.rules) + "\n"
        shown = safe(group.name)
        title = title_line(Piece(shown, self._paint("name", shown)), group.about, self._width)
        return title + "".join(self._entry.group(*rule) for rule in group.rules) + "\n"

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
        name = safe(audited.title)
        about = safe(", ".join(_about(audited, verbose=self._options.verbose)))
        return title_line(Piece(name, self._paint("name", name)), about, self._width)


def _about(audited: Audited, *, verbose: bool) -> Iterator[str]:
    """Parts of the header line after the name."""
    if audited.scope == "domain":
        yield from about_domain(audited)
        if audited.uuid and (verbose or audited.target.startswith(_NAMES_REPEAT)):
            yield audited.uuid
    else:
        owner = name_of(audited.owner)
        yield "host" if audited.scope == "host" else f"{owner}, {_WHAT[audited.scope]}"
        if audited.uuid:
            yield audited.uuid
