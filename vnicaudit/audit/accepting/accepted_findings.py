"""Move findings that an entry accepts from ``findings`` to ``suppressed``."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vnicaudit.audit.accepting.suppression import SubjectIdentity, Suppression
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.report import Audited, Suppressed


def without_accepted(
    audited: Audited,
    entries: Iterable[tuple[int, Suppression]],
    used: set[int],
    domain: Domain | None,
) -> Audited:
    """The judgement with each finding that an entry matches moved; the numbers of all entries that
    match, not only of the first, are added to ``used``. ``domain``: the judged domain."""
    entries = tuple(entries)
    if not entries or not audited.findings:
        return audited
    whom = SubjectIdentity.of(audited, None if domain is None else domain.cloud)
    remaining: list[Finding] = []
    moved: list[Suppressed] = []
    for finding in audited.findings:
        matching = [(index, entry) for index, entry in entries if entry.matches(finding, whom)]
        used.update(index for index, _entry in matching)
        if matching:
            moved.append(_suppressed(finding, matching[0][1]))
        else:
            remaining.append(finding)
    if not moved:
        return audited
    return msgspec.structs.replace(
        audited, findings=tuple(remaining), suppressed=(*audited.suppressed, *moved)
    )


def _suppressed(finding: Finding, entry: Suppression) -> Suppressed:
    until = "" if entry.until is None else entry.until.isoformat()
    in_source = entry.in_metadata or entry.lines is not None
    return Suppressed(finding, entry.reason, entry.source, entry.owner or "", until, in_source)
