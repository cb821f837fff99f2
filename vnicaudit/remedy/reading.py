"""Bytes of a file -> its items, judged: before a change, and after it."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.reading.files import read_stream
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain, FromManifest
from vnicaudit.model.file_kind import Item
from vnicaudit.model.finding import SEVERITIES, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.refs import nic_index
from vnicaudit.model.report import Audited, NotJudged, PutAside, ReadError

Key = tuple[int, str, str, int | None, str | None]
"""The identity of a finding across an edit: position of its subject in the file, rule, fingerprint,
NIC, and the field to be changed. Lines may move."""


class AuditedItem(NamedTuple):
    """One item that was read, and its findings, without suppressed ones."""

    item: Item
    audited: Audited


class JudgedFile(NamedTuple):
    """Everything in a file, in order; ``errors`` say what could not be read."""

    audited_items: tuple[AuditedItem, ...]
    errors: tuple[str, ...]

    def findings(self) -> dict[Key, Finding]:
        """Every finding by key; if several have the same key, the most severe."""
        found: dict[Key, Finding] = {}
        for number, one in enumerate(self.audited_items):
            for finding in sorted(one.audited.findings, key=_rank):
                found[key_of(number, finding)] = finding
        return found


def key_of(subject: int, finding: Finding) -> Key:
    """See :data:`Key`."""
    field = None if finding.change is None else finding.change.field
    return subject, finding.rule, finding.fingerprint, nic_index(finding.about), field


class Reader(NamedTuple):
    """Reads and judges the new content of one file. ``preferences``: the files whose preferences
    are fixed too (absolute paths)."""

    path: str
    work: AuditWork
    preferences: frozenset[str] = frozenset()

    def read(self, data: bytes) -> JudgedFile:
        """Read and judge ``data`` as the content of the file."""
        judged: list[AuditedItem] = []
        errors: list[str] = []
        for item in read_stream(BytesIO(data), self.path, self.work.platforms.files):
            if isinstance(item, ReadError):
                errors.append(item.message)
            elif isinstance(item, Domain):
                domain = self._beside(item)
                judged.append(
                    AuditedItem(domain, self.work.domain(domain, HostConfig(), self.path))
                )
            elif not isinstance(item, PutAside | NotJudged):
                judged.append(AuditedItem(item, self.work.description(item, self.path)))
        return JudgedFile(tuple(judged), tuple(errors))

    def _beside(self, domain: Domain) -> Domain:
        """The domain as it is judged if its preference is fixed: it needs no fix for that
        itself."""
        declared, known_by = domain.declared, domain.known_by
        beside = known_by.preference_file if isinstance(known_by, FromManifest) else None
        if declared.manifest is None or beside not in self.preferences:
            return domain
        manifest = replace(declared.manifest, preference_judged=True)
        return replace(domain, declared=replace(declared, described_by=manifest))


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
