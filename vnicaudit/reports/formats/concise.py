"""One line per finding, ``place: severity rule subject message [fix]``, for grep and editors."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import Crashed, Finding, Ref
from vnicaudit.model.report import Audited, RunEnd
from vnicaudit.reports.grouped import WorstFindings
from vnicaudit.reports.safe import Paint, safe
from vnicaudit.reports.wording import Tally, accepted_sentence, closing, message_of, unread_of
from vnicaudit.reports.writers import Options, ReportWriter


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


WRITER = ConciseWriter
