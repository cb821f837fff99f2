"""Findings as stored in ``vnicaudit.report/1`` and ``vnicaudit.explain/1``, and their conversion.

In the files, the subject of a finding is flat, whatever it is; in memory it is a record of its kind
(:data:`vnicaudit.model.refs.Ref`).
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from vnicaudit.model.explanation import EXPLAIN_SCHEMA, Explanation, Layer, ServerName
from vnicaudit.model.finding import Change, Confidence, Crashed, Finding, Severity, Skipped
from vnicaudit.model.fix import Fix
from vnicaudit.model.location import Location
from vnicaudit.model.owner import name_of
from vnicaudit.model.refs import NicRef, Ref
from vnicaudit.model.report import (
    REPORT_SCHEMA,
    Coverage,
    NicRow,
    NotFixed,
    ReportRequest,
    Summary,
    Suppressed,
    TargetResult,
    Tool,
)
from vnicaudit.reports.subjects import FileSubject, Fixable, fixable, subject_of
from vnicaudit.reports.writer import rule_page


class FileNicRef(msgspec.Struct, frozen=True):
    """The NIC of a finding. A finding about a whole domain has no index and no MAC; a finding about
    a host has no domain either. For an image, flavor or preference, ``domain`` is its name and, in
    a cloud, ``uuid`` its id."""

    domain: str | None = None
    uuid: str | None = None
    mac: str | None = None
    index: int | None = None
    target_dev: str | None = None


class FileFinding(msgspec.Struct, frozen=True):
    """One instance of one rule.

    ``fix``: worded for ``owner``, the place where the definition is kept. ``fixes``: the values
    from which it was made. ``fingerprint``: identifies the finding across audits (by rule, domain
    UUID and MAC, or by file and xpath if there are none), never by line number.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    nic: FileNicRef
    location: Location
    owner: str
    change: Change | None
    fingerprint: str
    fix: str = ""
    related: tuple[Location, ...] = ()
    fixes: tuple[Fix, ...] = ()
    subject: FileSubject | None = None
    """Subject of the finding; null in reports of older releases."""
    fixable: Fixable | None = None
    """``safe`` or ``unsafe``: there is a ``change`` that vnicaudit can make; ``by-hand``: there is
    none. Null in reports of older releases."""
    docs_url: str | None = None
    """The page about the rule; null if the setting ``docs-url`` is not set."""


class FileSkipped(msgspec.Struct, frozen=True):
    """A rule that could not be judged. ``needs``: what was missing, and what would provide it."""

    rule: str
    nic: FileNicRef
    needs: str


class FileCrashed(msgspec.Struct, frozen=True):
    """A rule that crashed. Never a pass: the run ends with exit code 3."""

    rule: str
    nic: FileNicRef
    error: str


class FileSuppressed(msgspec.Struct, frozen=True):
    """A suppressed finding, and why."""

    finding: FileFinding
    reason: str
    source: str
    owner: str = ""
    """Who is responsible for the suppression; empty: not named."""
    until: str = ""
    """The last day of the suppression; empty: no end."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.report/1``: one complete audit."""

    schema: Literal["vnicaudit.report/1"] = REPORT_SCHEMA
    tool: Tool
    started: str
    request: ReportRequest | None = None
    """The request of the audit; missing in reports of older releases."""
    finished: str
    targets: tuple[TargetResult, ...]
    findings: tuple[FileFinding, ...]
    skipped: tuple[FileSkipped, ...]
    crashed: tuple[FileCrashed, ...]
    suppressed: tuple[FileSuppressed, ...] = ()
    coverage: Coverage | None = None
    """For a fleet: the part of it that was audited."""
    summary: Summary = Summary()
    not_fixed: tuple[NotFixed, ...] = ()
    """Fixes that should have been made in place but were not; missing if there are none."""


class FileExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.explain/1``: one NIC, layer by layer, and its problems. ``server`` null: it
    belongs to no server of a cloud that was read."""

    schema: Literal["vnicaudit.explain/1"] = EXPLAIN_SCHEMA
    nic: NicRow
    server: ServerName | None = None
    layers: tuple[Layer, ...]
    findings: tuple[FileFinding, ...] = ()
    suppressed: tuple[FileSuppressed, ...] = ()
    skipped: tuple[FileSkipped, ...] = ()
    crashed: tuple[FileCrashed, ...] = ()


Record = TypeVar("Record", bound=msgspec.Struct)


def converted(record: msgspec.Struct, kind: type[Record], **others: object) -> Record:
    """A record of another kind with the fields that both have, and with ``others``."""
    fields = {
        name: getattr(record, name)
        for name in kind.__struct_fields__
        if name in record.__struct_fields__ and name not in others
    }
    return kind(**fields, **others)


def flat(ref: Ref) -> FileNicRef:
    """A reference in the flat form used in files."""
    if isinstance(ref, NicRef):
        return FileNicRef(ref.domain, ref.uuid, ref.mac, ref.index, ref.target_dev)
    return FileNicRef(ref.name, ref.id)


def written_finding(one: Finding, judged: str, docs_url: str = "") -> FileFinding:
    """A finding in the form of files. ``judged``: name of the judged subject. ``docs_url``: base
    URL of the documentation."""
    return FileFinding(
        one.rule, one.name, one.severity, one.confidence, one.message, flat(one.about),
        one.location, name_of(one.owner), one.change, one.fingerprint, one.fix, one.related,
        one.fixes, subject_of(one.about, judged), fixable(one),
        rule_page(docs_url, one.rule) or None,
    )  # fmt: skip


def written_skip(one: Skipped) -> FileSkipped:
    """A rule that could not be judged, in the form of files."""
    return FileSkipped(one.rule, flat(one.about), one.needs)


def written_crash(one: Crashed) -> FileCrashed:
    """A rule that crashed, in the form of files."""
    return FileCrashed(one.rule, flat(one.about), one.error)


def written_suppressed(one: Suppressed, judged: str, docs_url: str = "") -> FileSuppressed:
    """A suppressed finding, in the form of files."""
    finding = written_finding(one.finding, judged, docs_url)
    return FileSuppressed(finding, one.reason, one.source, one.owner, one.until)


def written_explanation(one: Explanation, docs_url: str = "") -> FileExplanation:
    """An explanation in the form of its file."""
    judged = one.nic.domain
    return converted(
        one,
        FileExplanation,
        findings=tuple(written_finding(each, judged, docs_url) for each in one.findings),
        suppressed=tuple(written_suppressed(each, judged, docs_url) for each in one.suppressed),
        skipped=tuple(map(written_skip, one.skipped)),
        crashed=tuple(map(written_crash, one.crashed)),
    )
