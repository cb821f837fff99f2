"""The state of a history, and one of its audits, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vnicaudit.base.clock import timestamp
from vnicaudit.base.wording import count
from vnicaudit.model.history import (
    AuditDetails,
    AuditSummary,
    FindingRecord,
    HistoryStatus,
    StaleHost,
)
from vnicaudit.reports.coverage import percent
from vnicaudit.reports.history.lines import table
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import wrap
from vnicaudit.reports.writer import Options

_HEADS = (
    "audit", "hosts", "failed", "findings", "stale", "new", "reopened", "fixed", "gone",
    "looked at",
)  # fmt: skip
_NUMBERS = range(1, 9)


def status_text(one: HistoryStatus, options: Options) -> Iterator[str]:
    """The audits, newest first, then the size and age of the history."""
    rows = [_audit(each) for each in one.audits]
    yield from table(_HEADS, rows, options, numbers=_NUMBERS)
    if options.quiet:
        return
    yield "\n"
    yield wrap(safe(_about(one)), options.width, "", "  ")
    for each in one.audits:
        if note := future_note(each.id, each.started):
            yield wrap(safe(f"Note: {note}"), options.width, "", "  ")
    if one.stale:
        yield from stale_text(one.stale, options)


def future_note(audit: str, started: str) -> str:
    """A warning of an audit with a date in the future; empty: it has none."""
    if started <= timestamp("seconds"):
        return ""
    return (
        f"audit {audit} started after the present by this machine's clock, and until then all "
        f"others are late and change nothing; if its clock was wrong: vnicaudit history remove "
        f"{audit}"
    )


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
        yield wrap(safe(text), options.width, "  ", "    ")


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
    yield from table(_HEADS, [_audit(one.audit)], options, numbers=_NUMBERS)
    if one.not_read:
        yield from stale_text(one.not_read, options)
    yield from findings_text(one.findings, options)


def findings_text(findings: Sequence[FindingRecord], options: Options) -> Iterator[str]:
    """Findings by state, in the given order."""
    states = Counter(one.state for one in findings)
    for state, number in states.items():
        yield f"\n{count(number, 'finding')} {state}:\n"
        rows = [
            (one.severity, one.rule, one.host, one.subject, one.mac, one.message)
            for one in findings
            if one.state == state
        ]
        heads = ("severity", "rule", "host", "about", "NIC", "problem")
        yield from table(heads, rows, options)
