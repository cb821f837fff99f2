"""The differences between two audits: text, CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.history import Drift, FindingRecord, NicRecord
from vnicaudit.reports.history.lines import table
from vnicaudit.reports.history.status import findings_text
from vnicaudit.reports.safe import markdown, safe
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.table.markdown import table_text
from vnicaudit.reports.table.model import Cell, Part, Row, Table
from vnicaudit.reports.wrap import wrap
from vnicaudit.reports.writer import Options

_COLUMNS = (
    "kind", "state", "host", "site", "about", "uuid", "mac", "rule", "severity", "detail",
    "fingerprint",
)  # fmt: skip


_NIC_HEADS = ("State", "Host", "Domain", "NIC", "Is")
_FINDING_HEADS = ("State", "Severity", "Rule", "Host", "About", "Problem")


def drift_text(one: Drift, options: Options) -> Iterator[str]:
    """The lines of a drift report: the audits compared, then NICs, then findings, both by state."""
    yield wrap(safe(_head(one)), options.width, "", "  ")
    for note in one.notes:
        yield wrap(safe(f"Note: {note}"), options.width, "", "  ")
    for state in sorted({each.state for each in one.nics}):
        nics = [each for each in one.nics if each.state == state]
        yield f"\n{count(len(nics), 'NIC')} {state}:\n"
        rows = [(each.host, each.domain, each.mac, _nic(each)) for each in nics]
        yield from table(("host", "domain", "NIC", "is"), rows, options)
    yield from findings_text(one.findings, options)
    if not (one.nics or one.findings):
        yield "\nNo drift\n"


def _head(one: Drift) -> str:
    sides = f"{one.before.audit} ({one.before.started}) to {one.after.audit} ({one.after.started})"
    return f"{sides}: {count(one.hosts, 'host')}, {count(one.rules, 'rule')} in both"


def _nic(one: NicRecord) -> str:
    """The model of a NIC. If it changed: old and new values of each column. If it moved: also the
    hosts."""
    words = [f"{name} {_value_text(a)} → {_value_text(b)}" for name, (a, b) in one.changes.items()]
    if one.changes.keys() <= {"host"}:
        words.append(one.model or "?")
    return ", ".join(words)


def _value_text(value: str | int | None) -> str:
    return "unknown" if value is None else str(value)


def drift_csv(one: Drift) -> str:
    """One line for each NIC and finding that differs."""
    return lines([_COLUMNS]) + lines(_rows(one))


def _rows(one: Drift) -> Iterator[tuple[str | None, ...]]:
    for nic in one.nics:
        head = ("nic", nic.state, nic.host, nic.site, nic.domain, nic.uuid, nic.mac)
        yield (*head, None, None, _nic(nic), None)
    for each in one.findings:
        head = (
            "finding",
            each.state,
            each.host,
            each.site,
            each.subject,
            each.uuid or "",
            each.mac,
        )
        yield (*head, each.rule, each.severity, each.message, each.fingerprint)


def drift_markdown(one: Drift) -> Iterator[str]:
    """Two tables, for a comment or an issue."""
    yield f"## Drift\n\n{markdown(_head(one))}\n\n"
    yield from (f"* {markdown(note)}\n\n" for note in one.notes)
    if one.nics:
        nics = tuple(Row((*_nic_cells(each), _nic(each))) for each in one.nics)
        yield from table_text(Table("NICs", _NIC_HEADS, nics, words=True))
    if one.findings:
        found = tuple(Row(_finding_cells(each)) for each in one.findings)
        yield from table_text(Table("Findings", _FINDING_HEADS, found, words=True))


def _nic_cells(one: NicRecord) -> tuple[Cell, ...]:
    return one.state, one.host, one.domain, (Part(one.mac or "", code=True),)


def _finding_cells(one: FindingRecord) -> tuple[Cell, ...]:
    return one.state, one.severity, one.rule, one.host, one.subject, one.message
