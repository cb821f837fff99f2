"""The state of a history, and one of its audits, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.history import (
    AuditDetails,
    AuditSummary,
    Drift,
    FindingRecord,
    HistoryStatus,
    NicRecord,
    StaleHost,
    Trend,
    TrendPoint,
)
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.differences import Differences, table_of
from vnicaudit.reports.model import Part, Table
from vnicaudit.reports.safe import csv_lines
from vnicaudit.reports.wording import percent
from vnicaudit.reports.writers import Options

_HEADS = (
    "audit", "hosts", "failed", "findings", "stale", "new", "reopened", "fixed", "gone",
    "looked at",
)  # fmt: skip
_NUMBERS = range(1, 9)


def status_text(one: HistoryStatus, options: Options) -> Iterator[str]:
    """The audits, newest first, then the size and age of the history."""
    pen = Pen(options)
    yield from pen.table(_HEADS, map(_audit, one.audits), _NUMBERS)
    if options.quiet:
        return
    yield "\n" + pen.say(_about(one))
    if one.stale:
        yield from stale_text(one.stale, options)


def _about(one: HistoryStatus) -> str:
    text = f"{one.place}: {one.bytes / 1e6:,.1f} MB, {count(one.hosts, 'host')} in the inventory"
    if one.never_read:
        text += f", {one.never_read:,} never read"
    return text if one.oldest is None else f"{text}; oldest reading {one.oldest}"


def stale_text(hosts: Sequence[StaleHost], options: Options) -> Iterator[str]:
    """Hosts that were not read: since when, and why."""
    yield f"\n{count(len(hosts), 'host')} not read:\n"
    for one in hosts:
        since = "never read" if one.read_at is None else f"last read {one.read_at}"
        why = ": ".join(word for word in (one.failure, one.error) if word)
        text = f"{one.host}: {since}" + (f"; {why}" if why else "")
        yield Pen(options).say(text, 2)


def _audit(one: AuditSummary) -> tuple[str | int, ...]:
    """A row for an audit, whose id is the time of its start (UTC). As in a trend, findings are all
    open ones, including stale ones."""
    return (
        one.id, one.hosts_to_read, one.failed, one.open + one.stale, one.stale,
        one.new, one.reopened, one.fixed, one.gone, _coverage(one),
    )  # fmt: skip


def _coverage(one: AuditSummary) -> str:
    parts = []
    if one.limit:
        parts.append(f"hosts {one.limit}")
    if one.host_share < 1:
        parts.append(f"{percent(one.host_share)} of the hosts")
    if one.nic_share < 1:
        parts.append(f"{percent(one.nic_share)} of the NICs")
    return ", ".join([*(parts or ["all"]), count(one.rules, "rule")])


def details_text(one: AuditDetails, options: Options) -> Iterator[str]:
    """An audit: its row, hosts that were not read, and what it changed."""
    pen = Pen(options)
    yield from pen.table(_HEADS, [_audit(one.audit)], _NUMBERS)
    if one.not_read:
        yield from stale_text(one.not_read, options)
    for table in finding_tables(one.findings):
        yield f"\n{table.caption}:\n"
        yield from pen.table(table.heads, (row.cells for row in table.rows))


def finding_tables(findings: Sequence[FindingRecord]) -> list[Table]:
    """Findings by state, in their order."""
    heads = ("severity", "rule", "host", "about", "NIC", "problem")
    return [
        table_of(
            f"{count(number, 'finding')} {state}",
            heads,
            [
                (one.severity, one.rule, one.host, one.subject, one.mac, one.message)
                for one in findings
                if one.state == state
            ],
        )
        for state, number in Counter(one.state for one in findings).items()
    ]


# Records of the history as JSON.


def to_json(one: AuditDetails | HistoryStatus | Trend) -> str:
    """The document, indented, with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(one), indent=1).decode() + "\n"


# Counts of findings over time: text and CSV.


_COLUMNS = (
    "time", "audit", "group", "open", "stale", "accepted", "new", "reopened", "fixed", "gone",
)  # fmt: skip
_BARS = "▁▂▃▄▅▆▇█"
_MOST = 28
"""Maximum audits in a picture."""


def trend_csv(one: Trend) -> str:
    """One line for each group and audit; the third column is named after the grouping."""
    heads = [one.by if name == "group" else name for name in _COLUMNS]
    rows = ([getattr(point, name) for name in _COLUMNS] for point in one.points)
    return csv_lines([heads]) + csv_lines(rows)


def trend_text(one: Trend, options: Options) -> Iterator[str]:
    """One line for each group: number of findings, how many of them the last audit did not check,
    the difference from the first audit, how many came and went, and a picture."""
    if not one.audits:
        yield "No audits\n"
        return
    groups: dict[str, dict[str, TrendPoint]] = {}
    for point in one.points:
        groups.setdefault(point.group, {})[point.audit] = point
    ids = [each.id for each in one.audits]
    rows = [_row(name, points, ids) for name, points in sorted(groups.items())]
    heads = (
        one.by,
        "findings",
        "stale",
        "since first",
        "new",
        "reopened",
        "fixed",
        "gone",
        "trend",
    )
    pen = Pen(options)
    yield from pen.table(heads, rows, range(1, 8))
    if not options.quiet:
        first, last = one.audits[0], one.audits[-1]
        text = f"{count(len(ids), 'audit')}, {first.started} to {last.started}; the last read "
        text += f"{last.ok + last.partial:,} of {count(last.hosts, 'host')}"
        if (first.ok + first.partial, first.hosts) != (last.ok + last.partial, last.hosts):
            text += f", the first {first.ok + first.partial:,} of {first.hosts:,}"
        text += "; each trend is drawn from 0 to its highest number"
        yield "\n" + pen.say(text)


def _row(name: str, points: dict[str, TrendPoint], ids: list[str]) -> tuple[str | int, ...]:
    known = [_known(points.get(each)) for each in ids]
    last = points.get(ids[-1])
    sums = (
        sum(getattr(one, flow) for one in points.values())
        for flow in ("new", "reopened", "fixed", "gone")
    )
    stale = 0 if last is None else last.stale
    change = f"{known[-1] - known[0]:+,}"
    return (name or "-", known[-1], stale, change, *sums, _picture(known))


def _known(point: TrendPoint | None) -> int:
    """All known open findings, including stale ones."""
    return 0 if point is None else point.open + point.stale


def _picture(values: list[int]) -> str:
    """A block for each value; if there are too many values, for evenly spaced ones."""
    if len(values) > _MOST:
        values = [values[round(n * (len(values) - 1) / (_MOST - 1))] for n in range(_MOST)]
    most = max(values) or 1
    return "".join(_BARS[round(one * (len(_BARS) - 1) / most)] for one in values)


# The differences between two audits.


_COLUMNS_DRIFT = (
    "kind", "state", "host", "site", "about", "uuid", "mac", "rule", "severity", "detail",
    "fingerprint",
)  # fmt: skip


def drift_differences(one: Drift) -> Differences:
    """The NICs, then the findings, both by state."""
    tables = []
    for state, number in Counter(each.state for each in one.nics).items():
        nics = [
            (each.host, each.domain, Part(each.mac or "", code=True), _nic(each))
            for each in one.nics
            if each.state == state
        ]
        heads = ("host", "domain", "NIC", "is")
        tables.append(table_of(f"{count(number, 'NIC')} {state}", heads, nics))
    tables += finding_tables(one.findings)
    head = _head(one) if tables else f"{_head(one)}; no drift"
    return Differences(one, head, one.notes, tables, [_COLUMNS_DRIFT, *_rows(one)])


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
