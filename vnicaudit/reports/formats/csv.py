"""One line per finding, for spreadsheets and ``cut``. Columns are stable: new ones go last."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from vnicaudit.model.finding import Finding
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import csv_cell
from vnicaudit.reports.writer import Options, Writer

FORMAT = "csv"
SUMMARY = "one line per finding, for spreadsheets"
NAMES_NOT_JUDGED = False

COLUMNS = (
    "rule", "name", "severity", "confidence", "domain", "uuid", "nic", "mac", "target_dev",
    "owner", "target", "file", "line", "message", "fix", "fix_safe", "fingerprint",
)  # fmt: skip


def writer(options: Options) -> Writer:
    """A CSV writer; no option changes what it writes."""
    del options
    return _Csv()


class _Csv:
    def start(self, run: RunInfo) -> str:
        del run
        return _lines([COLUMNS])

    def add(self, audited: Audited) -> str:
        return _lines(map(_row, audited.findings)) if audited.findings else ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        del end
        yield ""


def _row(finding: Finding) -> Iterator[str]:
    nic, place = finding.nic, finding.location
    safe = None if finding.change is None else str(finding.change.safe).lower()
    for cell in (
        finding.rule, finding.name, finding.severity, finding.confidence,
        nic.domain, nic.uuid, nic.index, nic.mac, nic.target_dev,
        finding.owner, place.target, place.file, place.line,
        finding.message, finding.fix, safe, finding.fingerprint,
    ):  # fmt: skip
        yield "" if cell is None else csv_cell(str(cell))


def _lines(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    # all in quotes: where a semicolon separates, a cell would end at one
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()
