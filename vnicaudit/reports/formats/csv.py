"""One line per finding, for spreadsheets and ``cut``. Columns are stable: new ones are added at the
end."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Finding, name_of
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import csv_lines
from vnicaudit.reports.writers import ReportWriter

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
        return csv_lines(map(_row, audited.findings)) if audited.findings else ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        del end
        yield ""


def _row(finding: Finding) -> tuple[str | int | None, ...]:
    about, place = finding.about, finding.location
    safe = None if finding.change is None else str(finding.change.safe).lower()
    return (
        finding.rule, finding.name, finding.severity, finding.confidence,
        about.name, about.id, about.index, about.mac, about.target_dev,
        name_of(finding.owner), place.target, place.file, place.line,
        finding.message, finding.fix, safe, finding.fingerprint,
    )  # fmt: skip


WRITER = CsvWriter
