"""Subjects, NICs and findings as columns. A NIC refers to its subject by number, a finding to its
subject and to one of the subject's NICs.
"""

from __future__ import annotations

import gzip
from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from vnicaudit.audit.judging.domains import path_of
from vnicaudit.knowledge.fixes.hypervisors import by_plan
from vnicaudit.model.finding import (
    SEVERITIES,
    Change,
    Finding,
    Severity,
    name_of,
)
from vnicaudit.model.history import FindingRecord
from vnicaudit.model.nic import NONE, UNKNOWN, Resolved
from vnicaudit.model.ranking import FindingHistory
from vnicaudit.model.report import Audited, DataPath, NicRow, Placed
from vnicaudit.reports.nics import ARROW, type_of, word_of
from vnicaudit.reports.page.from_audit import PageSubject
from vnicaudit.reports.ranking import new_value
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import name_and_id

# Columns of the page's tables as compressed JSON: a list of numbers, or texts, each once, with the
# number of its text for each row. ``templates/page/columns.js`` reads them.


_LARGEST = 0xFFFFFFFF
_LEVEL = 6
"""Compression level of gzip: 9 takes twice the time for half a percent."""
_LINE = 1 << 16


class TextColumn:
    """A column of texts. ``raw``: they are already safe to show."""

    def __init__(self, *, raw: bool = False) -> None:
        self._raw = raw
        self._texts: dict[str, int] = {}
        """The texts with their numbers."""
        self._rows = array("I")

    def append(self, text: str) -> None:
        """Add the text of the next row."""
        shown = text if self._raw else safe(text)
        self._rows.append(self._texts.setdefault(shown, len(self._texts)))

    def json(self) -> bytes:
        """``{"texts": […], "rows": […]}``; without rows if each row has a text of its own."""
        texts = list(self._texts)
        if len(texts) == len(self._rows):
            return msgspec.json.encode({"texts": texts})
        return msgspec.json.encode({"texts": texts, "rows": self._rows.tolist()})


class TableColumns:
    """A table that grows: each text once, and four bytes for each row and column. Its columns are
    named by words; those of ``raw`` have texts that are already safe to show."""

    def __init__(self, numbers: str, texts: str, raw: str = "") -> None:
        self._numbers = {name: array("I") for name in numbers.split()}
        self._texts = {name: TextColumn(raw=name in raw.split()) for name in texts.split()}
        self.count = 0

    def add(self, numbers: Iterable[int], texts: Iterable[str]) -> None:
        """Add a row. A number above 2^32 - 1 is shown as that."""
        self.count += 1
        for values, number in zip(self._numbers.values(), numbers, strict=True):
            values.append(min(number, _LARGEST))
        for column, text in zip(self._texts.values(), texts, strict=True):
            column.append(text)

    def json(self) -> dict[str, Raw]:
        """Name -> column."""
        return {
            **{name: Raw(msgspec.json.encode(one.tolist())) for name, one in self._numbers.items()},
            **{name: Raw(column.json()) for name, column in self._texts.items()},
        }


def packed(tables: Mapping[str, TableColumns], facts: object) -> Iterator[str]:
    """The data as lines of base64 of gzip of JSON: an HTML parser never has to hold a piece that
    grows with the fleet. ``facts``: a record for the script."""
    columns = {name: table.json() for name, table in tables.items()}
    data = msgspec.json.encode({"facts": facts, "tables": columns})
    text = b64encode(gzip.compress(data, _LEVEL, mtime=0)).decode()
    for at in range(0, len(text), _LINE):
        yield text[at : at + _LINE] + "\n"


NAME, UUID, MAC = "\x01", "\x02", "\x03"
"""Marks in a message or fix that stand for its subject's name and UUID and its NIC's MAC address,
so that sentences become equal and are stored once. They cannot occur in text that is safe to
show."""
_FACTS = "model vhost queues rx tx"
_NO_HISTORY = FindingHistory()


class PageTables:
    """The tables of the page: subjects; NICs and findings, which refer to their subject by number;
    and findings that are not open, each with its subject by name, because that may no longer
    exist."""

    def __init__(self) -> None:
        self.subjects = TableColumns(
            "", "name uuid guest read_at scope target host site owner server image flavor project"
        )
        self.nics = TableColumns(
            "subject index line",
            f"mac device file measured {_FACTS} connection path",
            raw=_FACTS,
        )
        self.findings = TableColumns(
            "subject nic line",
            "message fix rule severity confidence change safe state since file other",
            raw="message fix",
        )
        self.settled = TableColumns(
            "",
            "state severity rule title name host site owner mac message reason since until",
        )

    def data(self, facts: object) -> Iterator[str]:
        """The page's data, in pieces."""
        tables = {
            "subject": self.subjects, "nic": self.nics, "finding": self.findings,
            "settled": self.settled,
        }  # fmt: skip
        return packed(tables, facts)

    def add(self, one: PageSubject) -> None:
        """Add a subject with its NICs and findings."""
        number, it = self.subjects.count, one.audited
        guest, placed = _guest(it.rows[0]) if it.rows else "", it.placed or Placed()
        server = it.server if it.server != it.subject else ""
        texts = (
            it.title, it.uuid or "", guest, one.read_at, it.scope, it.target, one.host, one.site,
            name_of(it.owner), server, name_and_id(placed.image, placed.image_id), placed.flavor,
            name_and_id(placed.project, placed.project_id),
        )  # fmt: skip
        self.subjects.add((), texts)
        for nic, path in zip(it.rows, it.paths or map(path_of, it.rows), strict=False):
            self._add_nic(nic, path, number, one.measured.get(nic.index, ""))
        if it.findings:
            places = {nic.index: at for at, nic in enumerate(it.rows, 1)}
            marks = SubjectMarks(it)
            for finding in it.findings:
                past = one.history.get(finding.fingerprint, _NO_HISTORY)
                index = finding.about.index
                place = 0 if index is None else places.get(index, 0)
                self._add_finding(finding, number, place, marks, past)

    def _add_nic(self, nic: NicRow, path: DataPath, number: int, measured: str) -> None:
        texts = (
            nic.mac or "", nic.target_dev or "", nic.location.file or "", measured,
            _fact(nic.model, always=True), _fact(nic.vhost), _fact(nic.queues),
            _fact(nic.rx_queue_size), _fact(nic.tx_queue_size), type_of(nic), path,
        )  # fmt: skip
        self.nics.add((number, nic.index, nic.location.line or 0), texts)

    def _add_finding(
        self, one: Finding, number: int, place: int, marks: SubjectMarks, past: FindingHistory
    ) -> None:
        """Add a finding on the subject with that number. ``place``: of its NIC among the subject's,
        from 1; 0: none."""
        safety = "" if one.change is None else "safe" if one.change.safe else "unsafe"
        mac = one.about.mac
        texts = (
            marks.sentence(one.message, mac), marks.sentence(by_plan(one), mac), one.rule,
            one.severity, one.confidence, change_words(one.change), safety, past.state,
            past.first_seen, one.location.file or "", ", ".join(map(str, one.related)),
        )  # fmt: skip
        self.findings.add((number, place, one.location.line or 0), texts)

    def add_settled(self, one: FindingRecord) -> None:
        """Add a finding that is not open."""
        texts = (
            one.state, one.severity, one.rule, one.name, one.subject, one.host, one.site, one.owner,
            one.mac or "", one.message, one.reason or "", one.first_seen, one.until or "",
        )  # fmt: skip
        self.settled.add((), texts)


class SubjectMarks:
    """Replaces names and addresses of one subject in sentences by marks."""

    def __init__(self, subject: Audited) -> None:
        self._uuid = _visible_name(subject.uuid)
        self._name = _visible_name(subject.title)
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
    return "" if change is None else new_value(change.field, change.new)


def _fact(fact: Resolved[str] | Resolved[bool] | Resolved[int], *, always: bool = False) -> str:
    """Shown, declared and effective value and the reason, separated by tabs. ``always``: mark a
    default value too, because it is often unexpected."""
    declared = "" if fact.declared is None else word_of(fact.declared)
    effective = {UNKNOWN: "unknown", NONE: "-"}.get(fact.state) or word_of(fact.effective)
    shown = effective
    if fact.declared is None and always and fact.state != NONE:
        shown = f"-{ARROW}{effective}"
    elif fact.declared is not None and fact.declared != fact.effective:
        shown = f"{declared}{ARROW}{effective}"
    return "\t".join((shown, declared, effective, safe(fact.reason)))


def _guest(nic: NicRow) -> str:
    """``x86_64 pc-i440fx-7.2, 4 vCPUs, running``."""
    platform = " ".join(filter(None, (nic.arch, nic.machine)))
    vcpus = "" if nic.vcpus is None else f"{nic.vcpus} vCPU{'' if nic.vcpus == 1 else 's'}"
    state = "" if nic.active is None else "running" if nic.active else "shut off"
    return ", ".join(filter(None, (platform, vcpus, state)))


# The answer, added up while subjects pass: how many NICs, how many of them slow, which problems,
# and which changes would fix most of them.


_CHANGES = 5000
"""Maximum different changes; beyond that, a new change is not counted."""
_ANYONE = str.maketrans({NAME: "NAME", UUID: "UUID", MAC: "MAC"})


class ChangeKey(NamedTuple):
    """Key of findings that the same kind of change fixes, possibly of several rules. ``safe``:
    ``safe`` or ``unsafe``. If no change can be proposed, ``change`` and ``safe`` are empty, and
    findings are grouped by ``rule``."""

    rule: str
    owner: str
    change: str
    safe: str


class Cure(msgspec.Struct):
    """A change, its wording for the first finding, and what it fixes: the names of the rules, the
    number of findings, and the worst severity. ``sure``: not only findings of low confidence."""

    key: ChangeKey
    fix: str
    rules: dict[str, None] = {}
    number: int = 0
    severity: Severity = SEVERITIES[0]
    sure: bool = False

    def count(self, one: Finding) -> None:
        """Count a finding that the change fixes."""
        self.rules[one.name] = None
        self.number += 1
        self.severity = _worse(self.severity, one.severity)
        self.sure |= one.confidence != "low"


class RuleCount(msgspec.Struct):
    """A rule, its number of findings, and their worst severity."""

    rule: str
    name: str
    severity: Severity = SEVERITIES[0]
    number: int = 0


class AnswerCounts:
    """Counters whose size depends on rules and changes, not on the number of subjects. ``hints``:
    the number of findings of low confidence."""

    def __init__(self) -> None:
        self.nics = self.guests = self.hints = 0
        self.paths: Counter[str] = Counter()
        self.severities: Counter[Severity] = Counter()
        self._rules: dict[tuple[str, str], RuleCount] = {}
        self._cures: dict[ChangeKey, Cure] = {}

    @property
    def findings(self) -> int:
        """Number of all findings."""
        return self.severities.total()

    def add(self, subject: Audited) -> None:
        """Count a subject."""
        self.guests += subject.scope == "domain"
        self.nics += max(subject.nics, len(subject.rows)) - len(subject.paths_before)
        self.paths.update(subject.paths or map(path_of, subject.rows))
        self.paths.subtract(subject.paths_before)
        for one in subject.findings:
            self.severities[one.severity] += 1
            self.hints += one.confidence == "low"
            rule = self._rules.setdefault((one.rule, one.name), RuleCount(one.rule, one.name))
            rule.number += 1
            rule.severity = _worse(rule.severity, one.severity)
            if cure := self._cure(one, subject):
                cure.count(one)

    def problems(self) -> list[RuleCount]:
        """Rules with findings, sorted by severity, then by number."""
        return sorted(
            self._rules.values(),
            key=lambda row: (-SEVERITIES.index(row.severity), -row.number, row.rule),
        )

    def cures(self, most: int) -> list[Cure]:
        """The changes that fix most problems. Changes that fix only findings of low confidence, or
        nothing of at least medium severity, are included only if there are no others."""
        rows = list(self._cures.values())
        certain = [row for row in rows if row.sure]
        serious = [row for row in certain if SEVERITIES.index(row.severity) >= _SERIOUS]
        return sorted(serious or certain or rows, key=lambda row: (-row.number, row.key))[:most]

    def _cure(self, finding: Finding, subject: Audited) -> Cure | None:
        """The change that fixes a finding; None if there are too many changes to count."""
        change = finding.change
        safety = "" if change is None else "safe" if change.safe else "unsafe"
        words = change_words(change)
        key = ChangeKey("" if words else finding.rule, name_of(finding.owner), words, safety)
        if key not in self._cures and len(self._cures) < _CHANGES:
            fix = SubjectMarks(subject).sentence(by_plan(finding), finding.about.mac)
            self._cures[key] = Cure(key, fix.translate(_ANYONE))
        return self._cures.get(key)


def _worse(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=SEVERITIES.index)


_SERIOUS = SEVERITIES.index("medium")
