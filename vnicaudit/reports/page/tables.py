"""Subjects, NICs and findings as columns. A NIC names its subject by number, a finding its subject
and which of the subject's NICs it is about."""

from __future__ import annotations

from functools import lru_cache

from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.refs import mac_of, nic_index
from vnicaudit.model.report import NicRow
from vnicaudit.reports.nics.facts_text import ARROW, type_of
from vnicaudit.reports.page.columns import Addresses, Column, Dictionary, Names, NumberColumn
from vnicaudit.reports.page.data import FindingHistory, PageSettled, PageSubject
from vnicaudit.reports.page.paths import path_of
from vnicaudit.reports.page.spool import ChunkFile
from vnicaudit.reports.safe import safe

NAME, UUID, MAC = "\x01", "\x02", "\x03"
"""What stands in a message or a fix for the name of its subject, its UUID and the MAC address of
its NIC, so that equal sentences are one. Text that is safe to show has none of them."""
_WAITING = 4096
"""Rows of which numbers are kept in memory."""
_FACTS = ("model", "vhost", "queues", "rx", "tx")
_NO_HISTORY = FindingHistory()


class PageTables:
    """Columns that grow with what is added. Memory does not."""

    def __init__(self) -> None:
        self._file = ChunkFile()
        self.subjects = SubjectColumns(self._file)
        self.nics = NicColumns(self._file)
        self.findings = FindingColumns(self._file)
        self.settled = SettledColumns(self._file)
        self._count = self._waiting = 0

    def columns(self) -> dict[str, dict[str, Column]]:
        """All tables, for the page's data."""
        return {
            "subject": self.subjects.columns(),
            "nic": self.nics.columns(),
            "finding": self.findings.columns(),
            "settled": self.settled.columns(),
        }

    def add(self, subject: PageSubject) -> None:
        """Take a subject with its NICs and findings."""
        self.subjects.add(subject)
        for row in subject.rows:
            self.nics.add(row, self._count, subject.measured.get(row.index, ""))
        places = {row.index: at for at, row in enumerate(subject.rows, 1)}
        for finding in subject.findings:
            index = nic_index(finding.about)
            place = 0 if index is None else places.get(index, 0)
            past = subject.history.get(finding.fingerprint, _NO_HISTORY)
            self.findings.add(finding, self._count, place, subject, past)
        self._count += 1
        self._grown(1 + len(subject.rows) + len(subject.findings))

    def add_settled(self, one: PageSettled) -> None:
        """Take a finding that is not open."""
        self.settled.add(one)
        self._grown(1)

    def _grown(self, rows: int) -> None:
        self._waiting += rows
        if self._waiting > _WAITING:
            self._write_out()

    def _write_out(self) -> None:
        for columns in self.columns().values():
            for column in columns.values():
                column.settle()
        self._waiting = 0


class SubjectColumns:
    """Columns of the audited subjects: domains, hosts, images, files."""

    _WORDS = ("scope", "target", "host", "site", "owner", "server", "image", "flavor", "project")

    def __init__(self, file: ChunkFile) -> None:
        self.name = Names(file)
        self.uuid = Addresses(file, "uuid")
        self.guest = Dictionary(file)
        self.read_at = Dictionary(file)
        self.words = {name: Dictionary(file) for name in self._WORDS}

    def add(self, subject: PageSubject) -> None:
        """Take one."""
        self.name.append(subject.name)
        self.uuid.append(subject.uuid)
        self.guest.append(_guest(subject.rows[0]) if subject.rows else "")
        self.read_at.append(subject.read_at)
        for name, column in self.words.items():
            column.append(getattr(subject, name))

    def columns(self) -> dict[str, Column]:
        """By name."""
        return {
            "name": self.name, "uuid": self.uuid, "uuid_text": self.uuid.odd, "guest": self.guest,
            "read_at": self.read_at, **self.words,
        }  # fmt: skip


class NicColumns:
    """NICs, in the order of their subjects."""

    def __init__(self, file: ChunkFile) -> None:
        self.subject, self.index, self.line = (
            NumberColumn(file),
            NumberColumn(file),
            NumberColumn(file),
        )
        self.mac = Addresses(file, "mac")
        self.facts = {name: Dictionary(file, raw=True) for name in _FACTS}
        self.words = {
            name: Dictionary(file) for name in ("device", "connection", "path", "file", "measured")
        }

    def add(self, nic: NicRow, subject: int, measured: str) -> None:
        """Take a NIC of that subject."""
        self.subject.append(subject)
        self.index.append(nic.index)
        self.mac.append(nic.mac)
        facts = (nic.model, nic.vhost, nic.queues, nic.rx_queue_size, nic.tx_queue_size)
        for name, fact in zip(_FACTS, facts, strict=True):
            self.facts[name].append(_fact(fact, name == "model"))
        words = self.words
        words["device"].append(nic.target_dev or "")
        words["connection"].append(type_of(nic))
        words["path"].append(path_of(nic))
        words["file"].append(nic.location.file or "")
        words["measured"].append(measured)
        self.line.append(nic.location.line or 0)

    def columns(self) -> dict[str, Column]:
        """By name."""
        return {
            "subject": self.subject, "index": self.index, "mac": self.mac,
            "mac_text": self.mac.odd, "line": self.line, **self.facts, **self.words,
        }  # fmt: skip


class FindingColumns:
    """Findings, in the order of their subjects. ``nic``: which of the subject's, from 1 on; 0:
    none."""

    _WORDS = ("rule", "severity", "confidence", "change", "safe", "state", "since", "file", "other")

    def __init__(self, file: ChunkFile) -> None:
        self.subject, self.nic, self.line = (
            NumberColumn(file),
            NumberColumn(file),
            NumberColumn(file),
        )
        self.message, self.fix = Dictionary(file, raw=True), Dictionary(file, raw=True)
        self.words = {name: Dictionary(file) for name in self._WORDS}

    def add(
        self, one: Finding, number: int, nic: int, subject: PageSubject, past: FindingHistory
    ) -> None:
        """Take a finding on the subject of that number."""
        self.subject.append(number)
        self.nic.append(nic)
        self.line.append(one.location.line or 0)
        self.message.append(sentence(one.message, subject, one))
        self.fix.append(sentence(one.fix, subject, one))
        safety = "" if one.change is None else "safe" if one.change.safe else "unsafe"
        values = (
            one.rule, one.severity, one.confidence, change_words(one.change), safety, past.state,
            past.first_seen, one.location.file or "", ", ".join(map(str, one.related)),
        )  # fmt: skip
        for column, value in zip(self.words.values(), values, strict=True):
            column.append(value)

    def columns(self) -> dict[str, Column]:
        """By name."""
        return {
            "subject": self.subject, "nic": self.nic, "line": self.line, "message": self.message,
            "fix": self.fix, **self.words,
        }  # fmt: skip


class SettledColumns:
    """Findings that are not open. Each names itself what it is about: that may be there no more."""

    _WORDS = (
        "state", "severity", "rule", "title", "name", "host", "site", "owner", "mac", "message",
        "reason", "since", "until",
    )  # fmt: skip

    def __init__(self, file: ChunkFile) -> None:
        self._words = {name: Dictionary(file) for name in self._WORDS}
        self.count = 0

    def add(self, one: PageSettled) -> None:
        """Take one."""
        self.count += 1
        values = (
            one.state, one.severity, one.rule, one.name, one.subject, one.host, one.site, one.owner,
            one.mac, one.message, one.reason, one.first_seen, one.until,
        )  # fmt: skip
        for column, value in zip(self._words.values(), values, strict=True):
            column.append(value)

    def columns(self) -> dict[str, Column]:
        """By name."""
        return dict(self._words)


def sentence(text: str, subject: PageSubject, finding: Finding) -> str:
    """A message or fix, safe to show, with marks for names and addresses."""
    if not text:
        return ""
    text = safe(text)
    named = ((subject.uuid, UUID), (mac_of(finding.about), MAC), (subject.name, NAME))
    for name, mark in named:
        if name and len(name) > 2 and (known := safe(name)) in text:
            text = text.replace(known, mark)
    return text


def change_words(change: Change | None) -> str:
    """``model → virtio``; empty for a finding that proposes no change."""
    if change is None:
        return ""
    return f"{change.field} {ARROW} {'not set' if change.new is None else change.new}"


@lru_cache(maxsize=4096)
def _fact(fact: Resolved[str] | Resolved[bool] | Resolved[int], always: bool) -> str:
    """Shown, declared, in effect, and why, with tabs between. ``always``: a value that nobody
    declared is shown as such: a default is often not what one thinks."""
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
