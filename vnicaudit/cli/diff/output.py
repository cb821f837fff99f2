"""The differences between two reports as text, JSON, CSV or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.cli.diff.compare import STATES, ReportDifference, State
from vnicaudit.reports.findings.finding_text import SEVERITY
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.report_file import FileNicRef
from vnicaudit.reports.safe import markdown, safe
from vnicaudit.reports.table.columns import padded_cell
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.table.markdown import table_text
from vnicaudit.reports.table.model import Part, Row, Table
from vnicaudit.reports.wrap import Piece, fold, wrap
from vnicaudit.reports.writer import Options

SCHEMA: Literal["vnicaudit.diff/1"] = "vnicaudit.diff/1"

_TITLES: dict[State, str] = {
    "new": "new",
    "worse": "worse than before",
    "unknown": "not judged again",
    "gone": "gone",
    "accepted": "accepted since (suppressed)",
    "still": "still there",
}


class ReportDifferences(msgspec.Struct, frozen=True):
    """``vnicaudit.diff/1``: ``counts`` by state, notes, and every finding."""

    schema: Literal["vnicaudit.diff/1"]
    old: str
    new: str
    counts: dict[State, int]
    notes: tuple[str, ...]
    findings: tuple[ReportDifference, ...]


def differences(
    old: str, new: str, found: Sequence[ReportDifference], notes: Sequence[str]
) -> ReportDifferences:
    """The record from which all formats are written. ``old`` and ``new``: names of the files."""
    states = Counter(one.state for one in found)
    counts = {state: states[state] for state in STATES}
    return ReportDifferences(SCHEMA, old, new, counts, tuple(notes), tuple(found))


def as_text(one: ReportDifferences, options: Options) -> Iterator[str]:
    """Counts first, then each state. Findings that are still there are listed only if
    ``verbose``."""
    paint = Paint(color=options.color)
    yield wrap(_summary(one), options.width, "", "  ")
    for note in one.notes:
        yield wrap(safe(f"Note: {note}"), options.width, "", "  ")
    for state in STATES:
        found = [each for each in one.findings if each.state == state]
        if found and (state != "still" or options.verbose):
            yield f"\n{paint('name', _TITLES[state].capitalize())}:\n"
            yield from (_entry(each, options.width, paint) for each in found)


def as_json(one: ReportDifferences, options: Options) -> Iterator[str]:
    """The whole record."""
    del options
    yield msgspec.json.format(msgspec.json.encode(one)).decode() + "\n"


def as_csv(one: ReportDifferences, options: Options) -> Iterator[str]:
    """One line for each finding."""
    del options
    rows = [(each.state, *_row(each), each.finding.fingerprint) for each in one.findings]
    yield lines([("state", *_HEADS, "fingerprint"), *rows])


def as_markdown(one: ReportDifferences, options: Options) -> Iterator[str]:
    """The counts and a table. Findings that are still there are only counted."""
    del options
    yield f"{markdown(_summary(one))}\n\n"
    for note in one.notes:
        yield f"Note: {markdown(note)}\n\n"
    rows = [
        Row((_TITLES[each.state], *(Part(cell or "").text for cell in _row(each))))
        for each in one.findings
        if each.state != "still"
    ]
    if rows:
        yield from table_text(Table("", ("state", *_HEADS), tuple(rows)))


FORMATS: dict[str, Callable[[ReportDifferences, Options], Iterator[str]]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "markdown": as_markdown,
}  # fmt: skip

_HEADS = ("severity", "rule", "about", "NIC", "where", "problem")


def _entry(one: ReportDifference, width: int, paint: Paint) -> str:
    """Lines for one finding: its rule, subject and place, then the problem."""
    severity, rule, *more, problem = _row(one)
    style = one.finding.severity
    pieces = [
        padded_cell(Part(severity, style=style), SEVERITY, paint),
        Piece(rule, paint("name", rule)),
    ]
    pieces.extend(Piece(word, word) for word in map(safe, more) if word)
    return fold(pieces, width, "  ", "    ", "  ") + wrap(safe(problem), width, "    ", "    ")


def _row(one: ReportDifference) -> tuple[str, ...]:
    finding = one.finding
    severity = f"{one.before} → {finding.severity}" if one.state == "worse" else finding.severity
    problem = f"{finding.message} ({one.reason})" if one.reason else finding.message
    about = finding.nic.domain or ""
    return severity, finding.rule, about, _nic(finding.nic), str(finding.location), problem


def _nic(nic: FileNicRef) -> str:
    return nic.mac or ("" if nic.index is None else f"#{nic.index}")


def _summary(one: ReportDifferences) -> str:
    parts = [f"{number:,} {_TITLES[state]}" for state, number in one.counts.items() if number]
    total = count(sum(one.counts.values()), "finding")
    return f"{total}: {', '.join(parts)}" if parts else "No findings in either report"
