"""Baselines: findings that are already known, identified by fingerprint, and not reported again.

Two kinds of files are read: a report (``vnicaudit.report/1``, of which the findings count) and the
smaller ``vnicaudit.baseline/1``, the only one that is written
(:mod:`vnicaudit.reports.json_parts`). Findings about suppressions are never part of a baseline, so
that an expired suppression is not hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.accepting import settings_entries
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Finding,
    FindingOwner,
    Ref,
    Severity,
    name_of,
)
from vnicaudit.model.report import REPORT_SCHEMA, Audited

BASELINE_SCHEMA = "vnicaudit.baseline/1"
MAX_BYTES = 256 * 1024 * 1024

_NEVER = frozenset(info.id for info in settings_entries.INFO)

Baseline = Mapping[str, Severity | None]
"""Fingerprint -> the severity with which it was recorded; None if the file does not say."""

_Fingerprint = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class BaselineEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The finding behind a fingerprint, for a reader of the file. ``nic`` is the MAC address, or
    ``#`` and the index of a NIC without one; None for a whole domain, host or file."""

    rule: str
    severity: Severity | None = None
    """The recorded severity; the same finding is reported again at a higher severity. None: any."""
    domain: str | None = None
    nic: str | None = None


class BaselineFile(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.baseline/1``."""

    schema: str = BASELINE_SCHEMA
    created: str
    """UTC, RFC 3339."""
    fingerprints: dict[_Fingerprint, BaselineEntry]


class _ReportedFinding(msgspec.Struct):
    rule: str
    fingerprint: _Fingerprint
    severity: Severity
    about: Ref

    @property
    def entry(self) -> BaselineEntry:
        """The baseline entry that accepts this finding."""
        return _entry(self.rule, self.severity, self.about)


class _ReportFile(msgspec.Struct):
    """The part of a report that a baseline needs; other fields are ignored."""

    findings: list[_ReportedFinding]


class _SchemaOnly(msgspec.Struct):
    schema: str


def load_baseline(path: str) -> Baseline:
    """The fingerprints in a baseline or a report, and the severity of each. Raises as
    :func:`load_entries` does."""
    return {mark: entry.severity for mark, entry in load_entries(path).items()}


def load_entries(path: str) -> dict[str, BaselineEntry]:
    """The fingerprints in a baseline or a report, and the finding behind each.

    Raises UsageError when the file cannot be read, is larger than 256 MiB, or is neither.
    """
    data = _file_content(path)
    try:
        schema = json_as(data, _SchemaOnly).schema
        if schema == BASELINE_SCHEMA:
            return dict(json_as(data, BaselineFile).fingerprints)
        if schema == REPORT_SCHEMA:
            return _entries_of(json_as(data, _ReportFile).findings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a baseline: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    raise UsageError(
        f"{path}: its schema is {schema!r}; a baseline is {BASELINE_SCHEMA} or {REPORT_SCHEMA}"
    )


def entry_of(finding: Finding) -> BaselineEntry:
    """The entry of a baseline for one finding."""
    return _entry(finding.rule, finding.severity, finding.about)


def _entries_of(findings: Iterable[_ReportedFinding]) -> dict[str, BaselineEntry]:
    entries: dict[str, BaselineEntry] = {}
    for one in findings:
        if belongs(one.rule):
            add_entry(entries, one.fingerprint, one.entry)
    return entries


def add_entry(entries: dict[str, BaselineEntry], mark: str, entry: BaselineEntry) -> None:
    """Add the entry of a finding. Of several findings with one fingerprint (a definition that is in
    several files), the most severe counts."""
    if mark not in entries or _rank(entries[mark].severity) < _rank(entry.severity):
        entries[mark] = entry


def belongs(rule: str) -> bool:
    """True for a rule whose findings may be part of a baseline."""
    return rule not in _NEVER


def is_known(finding: Finding, baseline: Baseline) -> bool:
    """True if the baseline has this finding, at this severity or a higher one."""
    if finding.fingerprint not in baseline:
        return False
    return _rank(finding.severity) <= _rank(baseline[finding.fingerprint])


def number_gone(baseline: Baseline, seen: Iterable[str]) -> int:
    """The number of findings in the baseline that are not among ``seen``, the fingerprints of a
    run."""
    return len(baseline.keys() - set(seen))


def _rank(severity: Severity | None) -> int:
    return len(SEVERITIES) if severity is None else SEVERITIES.index(severity)


def _entry(rule: str, severity: Severity, about: Ref) -> BaselineEntry:
    nic = about.mac or (None if about.index is None else f"#{about.index}")
    return BaselineEntry(rule=rule, severity=severity, domain=about.name, nic=nic)


def _file_content(path: str) -> bytes:
    with as_usage_error(path), open_regular(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: not a baseline")
    return data


# Filter for reported findings: by severity, confidence, owner, domain and NIC.


class FindingFilter(msgspec.Struct, frozen=True):
    """The filter; an empty one reports everything. Findings that are filtered out are counted, and
    do not fail a run. ``level``, ``confidence``: the lowest that are reported. ``domains``: names
    and UUIDs; ``nics``: MAC addresses, indexes and taps."""

    level: Severity = "info"
    confidence: Confidence = "low"
    owners: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    nics: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """True if it may filter something out."""
        return self != NO_FILTER

    def apply(self, audited: Audited) -> Audited:
        """The subject with its reported findings; the others are counted."""
        in_named = self.names(audited)
        kept = tuple(one for one in audited.findings if self.keeps(one, in_named=in_named))
        hidden = len(audited.findings) - len(kept)
        return replace(audited, findings=kept, filtered=hidden) if hidden else audited

    def names(self, audited: Audited) -> bool:
        """True if ``domains`` has the subject itself."""
        return not self.domains.isdisjoint((audited.subject, audited.uuid, audited.server))

    def keeps(self, finding: Finding, *, in_named: bool = False) -> bool:
        """True for a finding that is reported. ``in_named``: it is among those of a subject that
        ``domains`` has."""
        about = finding.about
        of_nic = (about.mac, str(about.index), about.target_dev)
        return (
            SEVERITIES.index(finding.severity) >= SEVERITIES.index(self.level)
            and CONFIDENCES.index(finding.confidence) >= CONFIDENCES.index(self.confidence)
            and is_of(finding.owner, self.owners)
            and (not self.nics or not self.nics.isdisjoint(of_nic))
            and (not self.domains or in_named or bool(self.domains & {about.name, about.id}))
        )


def is_of(owner: FindingOwner, owners: frozenset[str]) -> bool:
    """True if the owner is among these (lower case), or there are none."""
    return not owners or name_of(owner).lower() in owners


NO_FILTER = FindingFilter()
