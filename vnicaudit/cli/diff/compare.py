"""Two reports -> what is new, worse, gone, accepted, not judged again, still there.

A finding that is missing from the newer report is gone only where that report read its target
whole, judged its rule and left nothing out: a host that did not answer has not been repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from vnicaudit.audit.accepting.baseline import MAX_BYTES
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.report import REPORT_SCHEMA
from vnicaudit.reports.report_file import FileCrashed, FileFinding, FileSkipped, Report

State = Literal["new", "worse", "unknown", "gone", "accepted", "still"]
STATES: tuple[State, ...] = ("new", "worse", "unknown", "gone", "accepted", "still")


class ReportDifference(msgspec.Struct, frozen=True):
    """One finding, as the newer report has it, or as the older one had it. ``before``: the
    severity in the older report, empty where it has none. ``reason``: why it is unknown or
    accepted."""

    state: State
    finding: FileFinding
    before: str = ""
    reason: str = ""


def read_report(path: str) -> Report:
    """A report of ``vnicaudit audit --format json``. Raises UsageError for whatever is none."""
    with as_usage_error(path), open_regular(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    try:
        return json_as(data, Report)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a report of {REPORT_SCHEMA}: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None


def compared(old: Report, new: Report) -> list[ReportDifference]:
    """Every finding of both reports, by state, and by severity, worst first."""
    order = {state: number for number, state in enumerate(STATES)}
    found = [*_of_new(old, new), *_of_old(old, new)]
    return sorted(
        found, key=lambda one: (order[one.state], -SEVERITIES.index(one.finding.severity))
    )


def notes(old: Report, new: Report) -> Iterator[str]:
    """Sentences on what makes two reports hard to compare."""
    for name, report in (("OLD", old), ("NEW", new)):
        if hidden := _left_out(report):
            yield (
                f"{name} was made with --severity, --owner, --min-confidence or a baseline: "
                f"{hidden:,} of its findings {'are' if hidden != 1 else 'is'} not in it"
            )
    if old.tool.version != new.tool.version:
        yield f"written by vnicaudit {old.tool.version} and {new.tool.version}: rules may differ"


def _left_out(report: Report) -> int:
    """How many findings a filter or a baseline kept out of the report: it does not say which."""
    return report.summary.filtered + report.summary.baselined


def _of_new(old: Report, new: Report) -> Iterator[ReportDifference]:
    before = {one.fingerprint: one.severity for one in old.findings}
    for finding in new.findings:
        severity = before.get(finding.fingerprint)
        if severity is None:
            yield ReportDifference("new", finding)
        elif SEVERITIES.index(severity) < SEVERITIES.index(finding.severity):
            yield ReportDifference("worse", finding, severity)
        else:
            yield ReportDifference("still", finding, severity)


def _of_old(old: Report, new: Report) -> Iterator[ReportDifference]:
    """The findings that the newer report does not have."""
    after = {one.fingerprint for one in new.findings}
    accepted = {one.finding.fingerprint: one.reason for one in new.suppressed}
    unread = _Unjudged(new)
    for finding in old.findings:
        if finding.fingerprint in after:
            continue
        if finding.fingerprint in accepted:
            reason = accepted[finding.fingerprint]
            yield ReportDifference("accepted", finding, finding.severity, reason)
        else:
            reason = unread.reason(finding)
            yield ReportDifference(
                "unknown" if reason else "gone", finding, finding.severity, reason
            )


_FILTERED = "perhaps left out of NEW by its filter or baseline"

_Subject = tuple[str | None, str | None]
"""Name and UUID of what a finding is about."""


class _Unjudged:
    """The targets that a report did not read whole, the rules it did not judge, and how many
    findings it leaves out."""

    def __init__(self, report: Report) -> None:
        self._left_out = _left_out(report)
        self._targets = {one.target: one for one in report.targets}
        self._skipped: dict[_Subject, list[FileSkipped | FileCrashed]] = {}
        unjudged: list[FileSkipped | FileCrashed] = [*report.skipped, *report.crashed]
        for one in unjudged:
            self._skipped.setdefault(_subject(one), []).append(one)

    def reason(self, finding: FileFinding) -> str:
        """Why the report does not tell whether a finding is gone; empty: it does."""
        target = self._targets.get(finding.location.target)
        if target is None:
            return f"{finding.location.target} was not read"
        if target.status != "ok":
            return target.error or f"{target.target} was not read whole"
        for one in self._skipped.get(_subject(finding), ()):
            is_of = one.rule == finding.rule or one.rule.startswith("*")
            if is_of and one.nic.mac in (None, finding.nic.mac):
                return one.needs if isinstance(one, FileSkipped) else one.error
        return _FILTERED if self._left_out else ""


def _subject(one: FileFinding | FileSkipped | FileCrashed) -> _Subject:
    return one.nic.domain, one.nic.uuid
