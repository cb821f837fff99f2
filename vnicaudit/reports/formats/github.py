"""GitHub workflow commands: each finding becomes an annotation on its file and line.

Source of the escaping: actions/toolkit, ``packages/core/src/command.ts`` (data: ``%``, CR and LF;
properties: also ``:`` and ``,``).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Confidence, Finding
from vnicaudit.model.report import Audited, RunEnd
from vnicaudit.reports.safe import annotation, annotation_property
from vnicaudit.reports.wording import (
    Tally,
    closing,
    fix_label,
    level_of,
    message_of,
    subject_label,
    unread_of,
)
from vnicaudit.reports.writers import Options, ReportWriter

_LEVELS = {
    "error": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice",
}  # fmt: skip


class GithubWriter(ReportWriter):
    """Writes annotations, one per line. Option used: the confidence that fails."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._tally = Tally()

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        fails = self._options.fail_confidence
        lines = [_finding(finding, audited.subject, fails) for finding in audited.findings]
        for crashed in audited.crashed:
            text = f"{subject_label(audited.subject, crashed.about)}: {crashed.error}"
            lines.append(_command("error", {"title": f"{crashed.rule} crashed"}, text))
        return "".join(lines)

    def finish(self, end: RunEnd) -> Iterator[str]:
        for target in end.targets:
            for error in unread_of(target):
                where = _annotation_place("could not be read", error.file, error.line)
                yield _command("error", where, f"{error.place}: {error.message}")
        yield _command("notice", {"title": "vnicaudit"}, closing(self._tally, end))


def _finding(finding: Finding, subject: str, fails: Confidence) -> str:
    place = finding.location
    where = _annotation_place(
        f"{finding.rule} {finding.name}", place.file, place.line, place.column
    )
    lines = [f"{subject_label(subject, finding.about)}: {message_of(finding)}"]
    if finding.fix:
        lines.append(f"{fix_label(finding)}: {finding.fix}")
    return _command(_LEVELS[level_of(finding, fails)], where, *lines)


def _annotation_place(
    title: str, file: str | None, line: int | None, column: int | None = None
) -> dict[str, str]:
    if file is None:
        return {"title": title}
    place = {"file": file, "line": str(line or 1)}
    return {**place, **({"col": str(column)} if column else {}), "title": title}


def _command(level: str, properties: dict[str, str], *lines: str) -> str:
    named = ",".join(f"{key}={annotation_property(value)}" for key, value in properties.items())
    return f"::{level} {named}::{annotation(*lines)}\n"


WRITER = GithubWriter
