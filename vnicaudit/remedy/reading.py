"""Bytes of a file -> what they describe, judged: before a change, and after it."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

from vnicaudit.audit.files import Item, read_stream
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import SEVERITIES, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import Audited, ReadError

Key = tuple[int, str, str, int | None, str | None]
"""What makes a finding the same one after an edit: place of its subject in the file, rule,
fingerprint, NIC, and the field to be changed. Lines move."""


class Judged(NamedTuple):
    """One thing that was read, and what was found; suppressed findings are not among it."""

    item: Item
    audited: Audited


class Reading(NamedTuple):
    """All of a file, in order; ``errors`` say what could not be read."""

    judged: tuple[Judged, ...]
    errors: tuple[str, ...]

    def findings(self) -> dict[Key, Finding]:
        """Every finding; of those that are the same, the most severe."""
        found: dict[Key, Finding] = {}
        for number, one in enumerate(self.judged):
            for finding in sorted(one.audited.findings, key=_rank):
                found[key_of(number, finding)] = finding
        return found


def key_of(subject: int, finding: Finding) -> Key:
    """See :data:`Key`."""
    field = None if finding.change is None else finding.change.field
    return subject, finding.rule, finding.fingerprint, finding.nic.index, field


def read(data: bytes, path: str, work: AuditWork) -> Reading:
    """Read and judge ``data`` as if it stood in ``path``."""
    judged: list[Judged] = []
    errors: list[str] = []
    for item in read_stream(BytesIO(data), path):
        if isinstance(item, ReadError):
            errors.append(item.message)
        elif isinstance(item, Domain):
            judged.append(Judged(item, work.domain(item, HostConfig(), path)))
        else:
            judged.append(Judged(item, work.description(item, path)))
    return Reading(tuple(judged), tuple(errors))


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
