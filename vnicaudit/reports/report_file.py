"""Findings as stored in ``vnicaudit.report/1`` and ``vnicaudit.explain/1``, and their conversion.

In the files, the subject of a finding is described twice: as programs ask for it, and as a NIC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, get_args

import msgspec

from vnicaudit.model.finding import (
    Change,
    Confidence,
    Crashed,
    Finding,
    Location,
    Ref,
    Severity,
    Skipped,
    SubjectKind,
    name_of,
)
from vnicaudit.model.fix import Fix
from vnicaudit.model.report import (
    EXPLAIN_SCHEMA,
    REPORT_SCHEMA,
    Audited,
    Coverage,
    Explanation,
    Layer,
    NicRow,
    NotFixed,
    ReportRequest,
    RunEnd,
    RunInfo,
    ServerName,
    Summary,
    Suppressed,
    TargetResult,
    Tool,
)

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.owners import Wordings
    from vnicaudit.model.ranking import PageMemory
    from vnicaudit.text.yaml_edits import Replacement

# The interface of a report writer: an audit is a stream, and so is its report.
#
# A format is a module in :mod:`vnicaudit.reports.formats` with ``FORMAT`` (its name on the command
# line, and the name of its module), ``SUMMARY`` (one line for ``--help``), ``NAMES_NOT_JUDGED``
# (true if the report names the parts of files that were not judged; otherwise the command line
# prints them), ``TELLS_FILTERED`` (the same for the number of findings left out by a filter),
# ``NEEDS_ROWS`` (true if it shows every NIC, wrong or not, so that the audit must provide their
# rows) and ``writer(options)``.


View = Literal["auto", "short", "full"]
VIEWS: tuple[View, ...] = get_args(View)
SortBy = Literal["severity", "number", "name"]
SORT_BY: tuple[SortBy, ...] = get_args(SortBy)
GroupBy = Literal["rule", "domain", "host", "owner", "image", "flavor", "project"]
GROUP_BY: tuple[GroupBy, ...] = get_args(GroupBy)

_SHIPPED = r"(?a)VNIC\d{3}"


Replacements = Callable[[Finding], "Sequence[Replacement]"]
"""The edits that fix a finding in its file; empty if it cannot be fixed there."""


class Options(msgspec.Struct, frozen=True):
    """How to write a report. ``width``: in columns. ``color`` False: no escape sequences at all.
    ``fail_confidence``: findings of lower confidence do not fail the run. ``group_by``: property by
    which equal findings are grouped (:mod:`vnicaudit.reports.findings.grouped`); empty: not
    grouped. ``wordings``: wordings of fixes for each owner, required by ``group_by`` and ``view``,
    where one fix is worded for several subjects. ``view``: each finding (``full``), equal ones once
    (``short``), or the shorter of both (``auto``). ``sort``: order of groups. ``most``: maximum
    groups, or worst findings, to show; the others are counted."""

    width: int = 80
    color: bool = False
    verbose: bool = False
    quiet: bool = False
    fail_confidence: Confidence = "medium"
    group_by: str = ""
    wordings: Wordings | None = None
    view: View = "full"
    sort: SortBy = "severity"
    most: int | None = None
    docs_url: str = ""
    """Base URL of the published documentation; empty: unknown."""
    links: bool = False
    """Write rule ids as terminal hyperlinks to their pages."""
    replacements: Replacements | None = None
    """None: fixes in files are not known."""
    memory: Callable[[], PageMemory] | None = None
    """For a fleet, known facts other than those of its audit; called at the start and at the end of
    a report."""

    def page_to_link(self, rule: str) -> str:
        """The address to which the id of a rule links; empty: no link."""
        return rule_page(self.docs_url, rule) if self.links else ""


def rule_page(docs_url: str, rule: str) -> str:
    """The address of a rule's page; empty if ``docs_url`` is empty, and for rules that are not
    built in, which have no page."""
    if not docs_url or re.fullmatch(_SHIPPED, rule) is None:
        return ""
    return f"{docs_url.rstrip('/')}/rules/{rule}.html"


class ReportWriter(Protocol):
    """Turns the events of one audit into text, piece by piece, in bounded memory.

    All text can be encoded as UTF-8, whatever bytes file names contain.
    """

    def start(self, run: RunInfo) -> str:
        """Return the start; nothing has been audited yet."""

    def add(self, audited: Audited) -> str:
        """Return the text for one domain or host; may be empty."""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """Yield the end, in pieces: totals, the result of each target, and everything that had to
        wait for its place in the document. Called once."""


class Format(Protocol):
    """The attributes that a module of :mod:`vnicaudit.reports.formats` has."""

    FORMAT: str
    SUMMARY: str
    NAMES_NOT_JUDGED: bool
    TELLS_FILTERED: bool
    NEEDS_ROWS: bool

    def writer(self, options: Options) -> ReportWriter:
        """A new writer for one report."""


# Subjects of findings by kind, name and id, for programs.


Fixable = Literal["safe", "unsafe", "by-hand"]


class FileSubject(msgspec.Struct, frozen=True):
    """A NIC, guest, image, host… by ``kind``, ``name`` and ``id``.

    The name of a NIC is ``web-01/NIC 0``; its ``id`` is the UUID of its domain and its MAC address,
    ``UUID/MAC``, which stays the same when NICs before it are removed. ``id`` null: only the name
    is known.
    """

    kind: SubjectKind
    name: str
    id: str | None = None


def subject_of(ref: Ref, judged: str) -> FileSubject:
    """The subject of a reference. ``judged``: name of the judged subject, for a reference without a
    name (a host, a configuration file)."""
    name = ref.name or judged
    if ref.kind != "nic":
        return FileSubject(ref.kind, name, ref.id)
    nic = f"{name}/NIC {ref.index}" if ref.index is not None else f"{name}/{ref.mac or 'NIC'}"
    return FileSubject(ref.kind, nic, f"{ref.id}/{ref.mac}" if ref.id and ref.mac else None)


def fixable(finding: Finding) -> Fixable:
    """``safe`` or ``unsafe`` if there is a change to make, else ``by-hand``."""
    if finding.change is None:
        return "by-hand"
    return "safe" if finding.change.safe else "unsafe"


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
    return FileNicRef(ref.name, ref.id, ref.mac, ref.index, ref.target_dev)


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


# Errors reported by msgspec for a file that was edited or cut off, starting with the place.


_AT_BYTE = re.compile(r"JSON is malformed: (?P<what>.*) \(byte (?P<byte>\d+)\)")
_AT_PATH = re.compile(r"(?=.*`\Z)(?P<what>.*) - at `\$(?P<path>.*)`", re.DOTALL)


def mismatch(error: msgspec.DecodeError, place: str = "") -> str:
    """``samples[3].block: Expected `int`, got `str```. ``place``: the part being read."""
    found = _AT_PATH.fullmatch(str(error))
    what = found["what"] if found else str(error)
    path = (place + (found["path"] if found else "")).removeprefix(".")
    return f"{path}: {what}" if path else what


def malformed(data: bytes, name: str, error: msgspec.DecodeError) -> str:
    """``plan.json:3:17: not JSON: invalid character``: line and column (in bytes), both from 1."""
    found = _AT_BYTE.fullmatch(str(error))
    if not found:
        return f"{name}: not JSON: {error}"
    # msgspec counts the first trailing character as read
    end = int(found["byte"]) - (found["what"] == "trailing characters")
    line, column = data.count(b"\n", 0, end) + 1, end - data.rfind(b"\n", 0, end)
    return f"{name}:{line}:{column}: not JSON: {found['what']}"
