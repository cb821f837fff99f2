"""Formats with a line for each finding: concise, CSV, JSON; and metrics."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import Crashed, Finding, Ref, name_of
from vnicaudit.model.report import REPORT_SCHEMA, Audited, RunEnd, RunInfo
from vnicaudit.reports.grouped import WorstFindings
from vnicaudit.reports.json_parts import Separator, SpooledArray
from vnicaudit.reports.metrics import AuditMetrics as AuditMetrics
from vnicaudit.reports.safe import Paint, csv_lines, encode, encode_items, safe
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import accepted_sentence, closing, message_of, unread_of
from vnicaudit.reports.writers import Options, ReportWriter

# One line per finding, ``place: severity rule subject message [fix]``, for grep and editors.


class ConciseWriter(ReportWriter):
    """Writes lines that are never wrapped."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._paint = Paint(color=options.color)
        self._tally = Tally()
        self._worst = None if options.most is None else WorstFindings(options.most)

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        findings = audited.findings
        if self._worst is not None:
            self._worst.add(audited)
            findings = ()
        lines = [self._finding(finding, audited.subject) for finding in findings]
        lines.extend(self._crash(crashed, audited) for crashed in audited.crashed)
        return "".join(lines)

    def finish(self, end: RunEnd) -> Iterator[str]:
        worst = () if self._worst is None else self._worst.worst_first()
        for audited, finding in worst:
            yield self._finding(finding, audited.subject)
        for target in end.targets:
            for error in unread_of(target):
                word = self._paint("bad", "unread")
                yield f"{safe(error.place)}: {word} {safe(error.message)}\n"
        hidden = self._tally.findings.total() - len(worst)
        if self._worst is not None and hidden:
            yield f"… {count(hidden, 'more problem')} (--max)\n"
        if not self._options.quiet:
            told = filter(None, (closing(self._tally, end), accepted_sentence(end)))
            yield f"{'; '.join(told)}\n"

    def _finding(self, finding: Finding, subject: str) -> str:
        severity = self._paint(finding.severity, finding.severity)
        about = safe(f"{_about(subject, finding.about)} {message_of(finding)}")
        rule = self._paint.link(self._options.page_to_link(finding.rule), safe(finding.rule))
        return f"{safe(str(finding.location))}: {severity} {rule} {about} [{_fix(finding)}]\n"

    def _crash(self, crashed: Crashed, audited: Audited) -> str:
        about = safe(f"{_about(audited.subject, crashed.about)} {crashed.error}")
        word = self._paint("crash", "crash")
        return f"{safe(audited.file or audited.target)}: {word} {crashed.rule} {about}\n"


def _about(subject: str, ref: Ref) -> str:
    """``web-01/0``: the guest and its NIC; only a name if it is not about a NIC."""
    index = ref.index
    return subject if index is None else f"{subject}/{index}"


def _fix(finding: Finding) -> str:
    """Who can make the change: vnicaudit, or a person."""
    if finding.change is None:
        return "by hand"
    return "safe fix" if finding.change.safe else "unsafe fix"


# One line per finding, for spreadsheets and ``cut``. Columns are stable: new ones are added at the
# end.


COLUMNS = (
    "rule", "name", "severity", "confidence", "domain", "uuid", "nic", "mac", "target_dev",
    "owner", "target", "file", "line", "message", "fix", "fix_safe", "fingerprint",
)  # fmt: skip


class CsvWriter(ReportWriter):
    """Writes CSV. Options have no effect."""

    def start(self, run: RunInfo) -> str:
        del run
        return csv_lines([COLUMNS])

    def add(self, audited: Audited) -> str:
        return csv_lines(map(_csv_row, audited.findings)) if audited.findings else ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        del end
        yield ""


def _csv_row(finding: Finding) -> tuple[str | int | None, ...]:
    about, place = finding.about, finding.location
    fix_safe = None if finding.change is None else str(finding.change.safe).lower()
    return (
        finding.rule, finding.name, finding.severity, finding.confidence,
        about.name, about.id, about.index, about.mac, about.target_dev,
        name_of(finding.owner), place.target, place.file, place.line,
        finding.message, finding.fix, fix_safe, finding.fingerprint,
    )  # fmt: skip


# ``vnicaudit.report/1``: everything, for programs.
#
# One finding per line; the schema is in ``docs/schemas/``. Findings are written as they arrive;
# everything after them waits in temporary files.


class JsonWriter(ReportWriter):
    """Writes JSON. Options have no effect."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._separator = Separator()
        self._later = {name: SpooledArray() for name in ("skipped", "crashed", "suppressed")}

    def start(self, run: RunInfo) -> str:
        request = "" if run.request is None else f'"request":{encode(run.request)},\n'
        return (
            f'{{"schema":"{REPORT_SCHEMA}",\n"tool":{encode(run.tool)},\n'
            f'"started":{encode(run.started)},\n{request}"findings":['
        )

    def add(self, audited: Audited) -> str:
        self._later["skipped"].extend(audited.skipped)
        self._later["crashed"].extend(audited.crashed)
        self._later["suppressed"].extend(audited.suppressed)
        if not audited.findings:
            return ""
        return self._separator.before() + encode_items(audited.findings)

    def finish(self, end: RunEnd) -> Iterator[str]:
        yield "]"
        for name, array in self._later.items():
            yield f',\n"{name}":'
            yield from array.drain()
        yield f',\n"finished":{encode(end.finished)}'
        if end.not_fixed:
            yield f',\n"not_fixed":[\n{encode_items(end.not_fixed)}]'
        yield f',\n"targets":{encode(end.targets)}'
        if end.coverage is not None:
            yield f',\n"coverage":{encode(end.coverage)}'
        yield f',\n"summary":{encode(end.summary)}}}\n'
