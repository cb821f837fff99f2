"""Baselines: findings that are known already, by fingerprint, and not reported again.

Two files are read: a report (``vnicaudit.report/1``, of which the findings count) and the
smaller ``vnicaudit.baseline/1``, which is what is written (:mod:`vnicaudit.reports.baseline`).
Findings about suppressions are never part of one: an expired suppression is not to be hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from vnicaudit.audit import stale
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import SEVERITIES, Finding, NicRef, Severity
from vnicaudit.model.report import REPORT_SCHEMA
from vnicaudit.text.regular import open_regular

BASELINE_SCHEMA = "vnicaudit.baseline/1"
MAX_BYTES = 256 * 1024 * 1024

_NEVER = frozenset(info.id for info in stale.INFO)

Baseline = Mapping[str, Severity | None]
"""Fingerprint -> the severity it is known at; None where the file does not say."""

_Fingerprint = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class BaselineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a fingerprint stands for, so that a reader of the file can tell. ``nic`` is the MAC
    address, or ``#`` and the index of a NIC without one; None for a whole domain, host or file."""

    rule: str
    severity: Severity | None = None
    """As it was known; the same finding at a higher severity is reported again. None: any."""
    domain: str | None = None
    nic: str | None = None


class BaselineFile(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.baseline/1``."""

    schema: str = BASELINE_SCHEMA
    created: str
    """UTC, RFC 3339."""
    fingerprints: dict[_Fingerprint, BaselineEntry]


class _Known(msgspec.Struct):
    rule: str
    fingerprint: _Fingerprint
    severity: Severity
    nic: NicRef = NicRef()

    @property
    def entry(self) -> BaselineEntry:
        """What a baseline says of it."""
        return entry_of(self.rule, self.severity, self.nic)


class _ReportFile(msgspec.Struct):
    """The part of a report that a baseline needs; the rest is passed over."""

    findings: list[_Known]


class _Head(msgspec.Struct):
    schema: str


def load_baseline(path: str) -> Baseline:
    """The fingerprints in a baseline or a report, and how severe each was. Raises as
    :func:`load_entries` does."""
    return {mark: entry.severity for mark, entry in load_entries(path).items()}


def load_entries(path: str) -> dict[str, BaselineEntry]:
    """The fingerprints in a baseline or a report, and what each stands for.

    Raises UsageError when the file cannot be read, is larger than 256 MiB, or is neither.
    """
    data = _read(path)
    try:
        schema = json_as(data, _Head).schema
        if schema == BASELINE_SCHEMA:
            return dict(json_as(data, BaselineFile).fingerprints)
        if schema == REPORT_SCHEMA:
            findings = json_as(data, _ReportFile).findings
            return {known.fingerprint: known.entry for known in findings if belongs(known.rule)}
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a baseline: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    raise UsageError(
        f"{path}: its schema is {schema!r}; a baseline is {BASELINE_SCHEMA} or {REPORT_SCHEMA}"
    )


def entry_of(rule: str, severity: Severity, nic: NicRef) -> BaselineEntry:
    """What a baseline says of one finding."""
    place = nic.mac or (None if nic.index is None else f"#{nic.index}")
    return BaselineEntry(rule=rule, severity=severity, domain=nic.domain, nic=place)


def belongs(rule: str) -> bool:
    """Whether findings of a rule may be part of a baseline."""
    return rule not in _NEVER


def is_known(finding: Finding, baseline: Baseline) -> bool:
    """Whether the baseline has this finding, at this severity or a higher one."""
    if finding.fingerprint not in baseline:
        return False
    severity = baseline[finding.fingerprint] or "error"
    return SEVERITIES.index(finding.severity) <= SEVERITIES.index(severity)


def gone(baseline: Baseline, seen: Iterable[str]) -> int:
    """How many findings of the baseline did not come up in a run that came upon ``seen``."""
    return len(baseline.keys() - set(seen))


def _read(path: str) -> bytes:
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: not a baseline")
    return data
