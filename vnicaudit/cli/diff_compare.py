"""Compare two reports: findings that are new, worse, gone, accepted, not judged again, or still
there.

A finding missing from the newer report is gone only if that report read its target completely,
judged its rule and left nothing out: a host that did not answer has not been repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Literal

import msgspec

from vnicaudit.audit.accepting.baseline import MAX_BYTES
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import SEVERITIES, Crashed, Finding, Ref, Severity, Skipped
from vnicaudit.model.report import REPORT_SCHEMA, Report, ReportRequest, TargetResult
from vnicaudit.reports.differences import Differences, table_of
from vnicaudit.reports.model import Cell, Part, Table

State = Literal["new", "worse", "unknown", "gone", "accepted", "still"]
STATES: tuple[State, ...] = ("new", "worse", "unknown", "gone", "accepted", "still")


_COMPARES = "diff compares reports of `vnicaudit audit --format json`"
_OTHER = re.compile(r"vnicaudit\.(?!report/)[a-z-]{1,40}/[0-9]{1,9}")


class ReportDifference(msgspec.Struct, frozen=True):
    """A finding, from the newer report if it is there, else from the older. ``before``: its
    severity in the older report; empty: not in it. ``reason``: why it is unknown or accepted; for a
    new finding, why the older report could not have it."""

    state: State
    finding: Finding
    before: str = ""
    reason: str = ""


def read_report(path: str) -> Report:
    """Read a report of ``vnicaudit audit --format json``. Raises UsageError for any other file."""
    with as_usage_error(path), open_regular(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    try:
        schema = json_as(data, _DocumentHead).schema  # reads all of it: a report may be cut
        if _OTHER.fullmatch(schema):
            raise UsageError(f"{path} is a {schema} document; {_COMPARES}")
        return json_as(data, Report)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a {REPORT_SCHEMA} report: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON: {error}; {_COMPARES}") from None


class _DocumentHead(msgspec.Struct):
    schema: str


def compared(old: Report, new: Report) -> list[ReportDifference]:
    """All findings of both reports, sorted by state, then by severity, worst first."""
    order = {state: number for number, state in enumerate(STATES)}
    found = [*_of_new(old, new), *_of_old(old, new)]
    return sorted(found, key=lambda one: (order[one.state], -_rank(one.finding)))


def notes(old: Report, new: Report) -> Iterator[str]:
    """Sentences on why two reports are hard to compare."""
    for name, report in (("OLD", old), ("NEW", new)):
        if hidden := _left_out(report):
            yield (
                f"{name} was made with a filter (--level, --owner, --domain, --nic) or a baseline: "
                f"{hidden:,} of its findings {'are' if hidden != 1 else 'is'} not in it"
            )
    for target in new.targets:
        if more := _unnamed(target):
            yield (
                f"NEW does not name all files of {target.target} that it did not judge ({more:,} "
                "more): a finding in a file that NEW does not name counts as not judged again"
            )
    yield from _rule_notes(old.request, new.request)
    if old.tool.version != new.tool.version:
        yield f"written by vnicaudit {old.tool.version} and {new.tool.version}: rules may differ"


def _rule_notes(old: ReportRequest | None, new: ReportRequest | None) -> Iterator[str]:
    if old is None or new is None:
        return
    for name, fewer, more in (("OLD", old, new), ("NEW", new, old)):
        missing = [rule for rule in more.rules if rule not in fewer.rules]
        if missing:
            which = ", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else "")
            yield f"{name} did not run {count(len(missing), 'rule')} of the other report: {which}"


def _left_out(report: Report) -> int:
    """Number of findings that a filter or a baseline kept out of the report, which does not name
    them."""
    return report.summary.filtered + report.summary.baselined


def _unnamed(target: TargetResult) -> int:
    """Number of files, and parts of files, of a target that were not judged and are not named."""
    kept = len(target.unrecognised) + len(target.not_judged)
    return max(0, target.unrecognised_count + target.not_judged_count - kept)


def _of_new(old: Report, new: Report) -> Iterator[ReportDifference]:
    """The findings of the newer report. Those with one fingerprint are compared by severity, the
    mildest with the mildest; one more than the older report had counts as its most severe."""
    earlier = _severities(old, new)
    for finding in sorted(new.findings, key=_rank):
        before = earlier.get(finding.fingerprint)
        if before is None:
            yield ReportDifference("new", finding, reason=_did_not_run(finding, old.request, "OLD"))
            continue
        severity = before.pop() if len(before) > 1 else before[0]
        worse = SEVERITIES.index(severity) < _rank(finding)
        yield ReportDifference("worse" if worse else "still", finding, severity)


def _severities(old: Report, new: Report) -> dict[str, list[Severity]]:
    """The severities in the older report by fingerprint, the most severe first; at most as many as
    the newer report has findings with that fingerprint."""
    numbers = Counter(one.fingerprint for one in new.findings)
    found: dict[str, list[Severity]] = {}
    for one in sorted(old.findings, key=_rank, reverse=True):
        severities = found.setdefault(one.fingerprint, [])
        if len(severities) < numbers[one.fingerprint]:
            severities.append(one.severity)
    return found


def _of_old(old: Report, new: Report) -> Iterator[ReportDifference]:
    """The findings of the older report that the newer one does not have."""
    after = {one.fingerprint for one in new.findings}
    accepted = {one.finding.fingerprint: one.reason for one in new.suppressed}
    unread = _Unjudged(old, new)
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


_FILTERED = "may be hidden in NEW by its filter or baseline"
_NAMED = 10
"""Rules named in a note."""
_HIDDEN = "*"
"""Placeholder for a value in a redacted report."""

_Subject = tuple[str | None, str | None]
"""Name and UUID of the subject of a finding."""


class _Unjudged:
    """Everything the newer report did not cover: targets not read completely, rules not judged, and
    objects not requested."""

    def __init__(self, old: Report, new: Report) -> None:
        self._left_out = _left_out(new)
        self._request = new.request
        self._servers = () if old.request is None else old.request.servers
        self._assumed = _other_versions(old.request, new.request)
        self._targets = {one.target: one for one in new.targets}
        self._unrecognised = {file for one in new.targets for file in one.unrecognised}
        self._parts = dict((_parts_not_judged(new) - _parts_not_judged(old)).keys())
        findings = (*new.findings, *(one.finding for one in new.suppressed))
        self._named = {one.location.file for one in findings}
        self._skipped: dict[_Subject, list[Skipped | Crashed]] = {}
        unjudged: list[Skipped | Crashed] = [*new.skipped, *new.crashed]
        for one in unjudged:
            self._skipped.setdefault(_subject(one), []).append(one)

    def reason(self, finding: Finding) -> str:
        """Why the report does not show whether a finding is gone; empty: it does show it."""
        target = self._targets.get(finding.location.target)
        if target is None:
            return f"{finding.location.target} was not read"
        if target.status != "ok":
            return target.error or f"{target.target} was only partly read"
        if target.passed_over:
            return f"{target.target} was not read"
        if file := finding.location.file:
            if file in self._unrecognised:
                return f"nothing in {file} was recognised: not judged"
            if file in self._parts:
                return f"{file} {self._parts[file]}"
            if _unnamed(target) and file not in self._named:
                return f"{file} may be one of the files that NEW did not judge and does not name"
        for one in self._skipped.get(_subject(finding), ()):
            is_of = one.rule == finding.rule or one.rule.startswith("*")
            if is_of and one.about.mac in (None, finding.about.mac):
                return one.needs if isinstance(one, Skipped) else one.error
        return (
            _did_not_run(finding, self._request, "NEW")
            or self._not_selected(finding)
            or self._assumed
            or (_FILTERED if self._left_out else "")
        )

    def _not_selected(self, finding: Finding) -> str:
        """Why a file or server was not read; empty: nothing was left out."""
        asked, file = self._request, finding.location.file
        if asked is None:
            return ""
        if file is None:
            is_other = asked.servers != self._servers or _HIDDEN in asked.servers
            words = ", ".join(asked.servers)
            return f"NEW has only some servers ({words})" if asked.servers and is_other else ""
        if asked.changed_since:
            return "NEW has only files that changed (--changed-since)"
        excluded = next((one for one in asked.exclude if _excludes(one, file)), "")
        return f"excluded from NEW (--exclude {excluded})" if excluded else ""


def _parts_not_judged(report: Report) -> Counter[tuple[str, str]]:
    """File and message of each part that was not judged, counted."""
    return Counter((part.file, part.message) for one in report.targets for part in one.not_judged)


def _excludes(pattern: str, file: str) -> bool:
    """True if a pattern may exclude a file, whatever directory the pattern was relative to."""
    pattern = pattern.removeprefix("./").rstrip("/")
    path = PurePath(file)
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in path.parts)
    places = (str(path), *map(str, path.parents))
    return any(fnmatchcase(f"/{one}", f"*/{pattern.lstrip('/')}") for one in places)


def _did_not_run(finding: Finding, asked: ReportRequest | None, name: str) -> str:
    """A sentence if the rule of a finding did not run for a report; else empty."""
    if asked is None or finding.rule.startswith("SUPP") or finding.rule in asked.rules:
        return ""
    return f"{finding.rule} did not run for {name} (--select, --ignore)"


def _other_versions(old: ReportRequest | None, new: ReportRequest | None) -> str:
    """A sentence if two reports assumed different versions; else empty."""
    if old is None or new is None:
        return ""
    for option, before, after in (
        ("--assume-qemu", old.assume_qemu, new.assume_qemu),
        ("--assume-libvirt", old.assume_libvirt, new.assume_libvirt),
        ("--nova-release", old.nova_release, new.nova_release),
        ("--workload", old.workload, new.workload),
    ):
        if before != after:
            versions = f"OLD {before or 'without'}, NEW {after or 'without'}"
            what = "use of the network" if option == "--workload" else "release"
            return f"judged for another {what} ({option}: {versions})"
    return ""


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _subject(one: Finding | Skipped | Crashed) -> _Subject:
    return one.about.name, one.about.id


# The differences between two reports.


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


def report_differences(one: ReportDifferences) -> Differences:
    """Findings by state. Those that are still there are listed only if that is asked for."""
    tables: list[Table] = []
    still: list[Table] = []
    for state in STATES:
        rows: list[tuple[Cell, ...]] = []
        for each in one.findings:
            if each.state == state:
                severity, *others = _row(each)
                rows.append((Part(severity, style=each.finding.severity), *others))
        if rows:
            found = table_of(_TITLES[state].capitalize(), _HEADS, rows)
            (still if state == "still" else tables).append(found)
    lines = [(each.state, *_row(each), each.finding.fingerprint) for each in one.findings]
    head = ("state", *_HEADS, "fingerprint")
    return Differences(one, _summary(one), one.notes, tables, [head, *lines], still)


_HEADS = ("severity", "rule", "about", "NIC", "where", "problem")


def _row(one: ReportDifference) -> tuple[str, ...]:
    finding = one.finding
    severity = f"{one.before} → {finding.severity}" if one.state == "worse" else finding.severity
    problem = f"{finding.message} ({one.reason})" if one.reason else finding.message
    about = finding.about.name or ""
    return severity, finding.rule, about, _nic(finding.about), str(finding.location), problem


def _nic(nic: Ref) -> str:
    return nic.mac or ("" if nic.index is None else f"#{nic.index}")


def _summary(one: ReportDifferences) -> str:
    parts = [f"{number:,} {_TITLES[state]}" for state, number in one.counts.items() if number]
    total = count(sum(one.counts.values()), "finding")
    return f"{total}: {', '.join(parts)}" if parts else "No findings to compare"
