"""Subjects, NICs and findings as columns. A NIC refers to its subject by number, a finding to its
subject and to one of the subject's NICs."""

from __future__ import annotations

from typing import Literal

from vnicaudit.knowledge.fixes.libvirt import by_plan
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.refs import mac_of, nic_index
from vnicaudit.model.report import NicRow
from vnicaudit.reports.nics.facts_text import ARROW, type_of
from vnicaudit.reports.page.columns import Column, NumberColumn, TextColumn
from vnicaudit.reports.page.data import FindingHistory, PageSettled, PageSubject
from vnicaudit.reports.safe import safe

NAME, UUID, MAC = "\x01", "\x02", "\x03"
"""Marks in a message or fix that stand for its subject's name and UUID and its NIC's MAC address,
so that sentences become equal and are stored once. They cannot occur in text that is safe to
show."""
_FACTS = ("model", "vhost", "queues", "rx", "tx")
_NO_HISTORY = FindingHistory()

Path = Literal["slow", "fast", "unknown", "does not start"]
PATHS: tuple[Path, ...] = ("does not start", "slow", "unknown", "fast")
"""Worst first."""


class PageTables:
    """Growing columns: each text once, a number of four bytes for each row and column."""

    def __init__(self) -> None:
        self.subjects = SubjectColumns()
        self.nics = NicColumns()
        self.findings = FindingColumns()
        self.settled = SettledColumns()
        self._count = 0

    def columns(self) -> dict[str, dict[str, Column]]:
        """All tables, for the page's data."""
        return {
            "subject": self.subjects.columns(),
            "nic": self.nics.columns(),
            "finding": self.findings.columns(),
            "settled": self.settled.columns(),
        }

    def add(self, subject: PageSubject) -> None:
        """Add a subject with its NICs and findings."""
        number = self._count
        measured = subject.measured
        self.subjects.add(subject)
        for row in subject.rows:
            self.nics.add(row, number, measured.get(row.index, "") if measured else "")
        if subject.findings:
            self._add_findings(subject, number)
        self._count += 1

    def _add_findings(self, subject: PageSubject, number: int) -> None:
        places = {row.index: at for at, row in enumerate(subject.rows, 1)}
        marks = SubjectMarks(subject)
        history = subject.history
        for finding in subject.findings:
            index = nic_index(finding.about)
            place = 0 if index is None else places.get(index, 0)
            past = history.get(finding.fingerprint, _NO_HISTORY)
            self.findings.add(finding, number, place, marks, past)

    def add_settled(self, one: PageSettled) -> None:
        """Add a finding that is not open."""
        self.settled.add(one)


class SubjectColumns:
    """Columns of the audited subjects: domains, hosts, images, files."""

    _WORDS = (
        "name", "uuid", "guest", "read_at", "scope", "target", "host", "site", "owner", "server",
        "image", "flavor", "project",
    )  # fmt: skip

    def __init__(self) -> None:
        self._words = {name: TextColumn() for name in self._WORDS}

    def add(self, subject: PageSubject) -> None:
        """Add a subject."""
        guest = _guest(subject.rows[0]) if subject.rows else ""
        values = (
            subject.name, subject.uuid or "", guest, subject.read_at, subject.scope, subject.target,
            subject.host, subject.site, subject.owner, subject.server, subject.image,
            subject.flavor, subject.project,
        )  # fmt: skip
        for column, value in zip(self._words.values(), values, strict=True):
            column.append(value)

    def columns(self) -> dict[str, Column]:
        """Name -> column."""
        return dict(self._words)


class NicColumns:
    """NICs, in the order of their subjects."""

    def __init__(self) -> None:
        self._numbers = {name: NumberColumn() for name in ("subject", "index", "line")}
        self._words = {name: TextColumn() for name in ("mac", "device", "file", "measured")}
        self._facts = {
            name: TextColumn(raw=name in _FACTS) for name in (*_FACTS, "connection", "path")
        }

    def add(self, nic: NicRow, subject: int, measured: str) -> None:
        """Add a NIC of that subject."""
        numbers = (subject, nic.index, nic.location.line or 0)
        words = (nic.mac or "", nic.target_dev or "", nic.location.file or "", measured)
        for number_column, number in zip(self._numbers.values(), numbers, strict=True):
            number_column.append(number)
        for column, word in zip(self._words.values(), words, strict=True):
            column.append(word)
        for column, word in zip(self._facts.values(), _kind(nic), strict=True):
            column.append(word)

    def columns(self) -> dict[str, Column]:
        """Name -> column."""
        return {**self._numbers, **self._words, **self._facts}


class FindingColumns:
    """Findings, in the order of their subjects. ``nic``: number of the subject's NIC, from 1; 0:
    none."""

    _WORDS = ("rule", "severity", "confidence", "change", "safe", "state", "since", "file", "other")

    def __init__(self) -> None:
        self._numbers = {name: NumberColumn() for name in ("subject", "nic", "line")}
        self._message, self._fix = TextColumn(raw=True), TextColumn(raw=True)
        self._words = {name: TextColumn() for name in self._WORDS}

    def add(
        self, one: Finding, number: int, nic: int, marks: SubjectMarks, past: FindingHistory
    ) -> None:
        """Add a finding on the subject with that number."""
        numbers = (number, nic, one.location.line or 0)
        for number_column, value in zip(self._numbers.values(), numbers, strict=True):
            number_column.append(value)
        mac = mac_of(one.about)
        self._message.append(marks.sentence(one.message, mac))
        self._fix.append(marks.sentence(by_plan(one), mac))
        for column, word in zip(self._words.values(), _finding_words(one, past), strict=True):
            column.append(word)

    def columns(self) -> dict[str, Column]:
        """Name -> column."""
        return {**self._numbers, "message": self._message, "fix": self._fix, **self._words}


def _finding_words(one: Finding, past: FindingHistory) -> tuple[str, ...]:
    safety = "" if one.change is None else "safe" if one.change.safe else "unsafe"
    return (
        one.rule, one.severity, one.confidence, change_words(one.change), safety, past.state,
        past.first_seen, one.location.file or "", ", ".join(map(str, one.related)),
    )  # fmt: skip


class SettledColumns:
    """Findings that are not open. Each contains its subject by name, because the subject may no
    longer exist."""

    _WORDS = (
        "state", "severity", "rule", "title", "name", "host", "site", "owner", "mac", "message",
        "reason", "since", "until",
    )  # fmt: skip

    def __init__(self) -> None:
        self._words = {name: TextColumn() for name in self._WORDS}
        self.count = 0

    def add(self, one: PageSettled) -> None:
        """Add a finding."""
        self.count += 1
        values = (
            one.state, one.severity, one.rule, one.name, one.subject, one.host, one.site, one.owner,
            one.mac, one.message, one.reason, one.first_seen, one.until,
        )  # fmt: skip
        for column, value in zip(self._words.values(), values, strict=True):
            column.append(value)

    def columns(self) -> dict[str, Column]:
        """Name -> column."""
        return dict(self._words)


class SubjectMarks:
    """Replaces names and addresses of one subject in sentences by marks."""

    def __init__(self, subject: PageSubject) -> None:
        self._uuid = _visible_name(subject.uuid)
        self._name = _visible_name(subject.name)
        self._mac: tuple[str | None, str] = (None, "")

    def sentence(self, text: str, mac: str | None) -> str:
        """A message or fix, safe to show. ``mac``: of the NIC it is about."""
        text = safe(text)
        if mac != self._mac[0]:
            self._mac = (mac, _visible_name(mac))
        address = self._mac[1]
        if self._uuid and self._uuid in text:
            text = text.replace(self._uuid, UUID)
        if address and address in text:
            text = text.replace(address, MAC)
        if self._name and self._name in text:
            text = text.replace(self._name, NAME)
        return text


def _visible_name(name: str | None) -> str:
    """A name as it occurs in sentences; empty if it is too short to be distinguished from a
    word."""
    return safe(name) if name and len(name) > 2 else ""


def change_words(change: Change | None) -> str:
    """``model → virtio``; empty if no change is proposed."""
    if change is None:
        return ""
    return f"{change.field} {ARROW} {'not set' if change.new is None else change.new}"


def path_of(nic: NicRow) -> Path:
    """How packets of a NIC travel, from its effective values. ``slow``: the model is emulated, or
    virtio has no vhost, so that QEMU copies every packet. ``fast``: vhost, or a data path of its
    own (passthrough, vhost-user, vDPA)."""
    if not nic.starts:
        return "does not start"
    if nic.model.state == NONE:
        return "fast"
    if nic.model.state == UNKNOWN:
        return "unknown"
    if nic.model.effective not in VIRTIO:
        return "slow"
    if nic.vhost.state == UNKNOWN:
        return "unknown"
    return "fast" if nic.vhost.state == NONE or nic.vhost.effective else "slow"


def _kind(nic: NicRow) -> tuple[str, ...]:
    return (
        _fact(nic.model, always=True), _fact(nic.vhost), _fact(nic.queues),
        _fact(nic.rx_queue_size), _fact(nic.tx_queue_size), type_of(nic), path_of(nic),
    )  # fmt: skip


def _fact(fact: Resolved[str] | Resolved[bool] | Resolved[int], *, always: bool = False) -> str:
    """Shown, declared and effective value and the reason, separated by tabs. ``always``: mark a
    default value too, because it is often unexpected."""
    declared = "" if fact.declared is None else _word(fact.declared)
    effective = {UNKNOWN: "unknown", NONE: "-"}.get(fact.state) or _word(fact.effective)
    shown = effective
    if fact.declared is None and always and fact.state != NONE:
        shown = f"-{ARROW}{effective}"
    elif fact.declared is not None and fact.declared != fact.effective:
        shown = f"{declared}{ARROW}{effective}"
    return "\t".join((shown, declared, effective, safe(fact.reason)))


def _word(value: str | bool | int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else safe(str(value))


def _guest(nic: NicRow) -> str:
    """``x86_64 pc-i440fx-7.2, 4 vCPUs, running``."""
    platform = " ".join(filter(None, (nic.arch, nic.machine)))
    vcpus = "" if nic.vcpus is None else f"{nic.vcpus} vCPU{'' if nic.vcpus == 1 else 's'}"
    state = "" if nic.active is None else "running" if nic.active else "shut off"
    return ", ".join(filter(None, (platform, vcpus, state)))
