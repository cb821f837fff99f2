"""Combines the state of a host in a history with its stored reading, if there is one, into one
reading for the page and the ranking.

A stored reading has everything known to an audit, including reasons and fixes. Missing parts
(another audit read that part of the host, or the reading is no longer stored) are reconstructed
from the history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.finding import (
    AuditedScope,
    Change,
    Finding,
    FindingOwner,
    Location,
    Ref,
    SubjectKind,
    owner_named,
)
from vnicaudit.model.fleet import HostReading, HostStatus, InventoryHost
from vnicaudit.model.history import (
    FindingRecord,
    FleetHost,
    FleetSummary,
    NicMeasurement,
)
from vnicaudit.model.ranking import PageChanges
from vnicaudit.model.report import Audited, NicRow, TargetResult
from vnicaudit.reports.page.from_audit import PageHost, PageNote, moment
from vnicaudit.reports.wording import percent

Subject = tuple[str, str, str]
"""Scope, UUID or name, file."""
_SCOPES: dict[str, AuditedScope] = {each: each for each in get_args(AuditedScope)}
_KINDS: dict[str, SubjectKind] = {each: each for each in get_args(SubjectKind)}
_OTHER_OWNERS: dict[str, FindingOwner] = {"host": "host", "vnicaudit": "vnicaudit"}
_WORDINGS = Wordings()


def merged_reading(
    host: FleetHost,
    findings: Sequence[FindingRecord],
    kept: HostReading | None,
    nics: Callable[[FleetHost], Iterable[NicRow]],
) -> HostReading:
    """Everything open on a host: from its stored reading, and what only the history knows.
    ``nics`` reads the NICs known to the history."""
    wanted = {one.fingerprint: one for one in findings}
    read = [_open_part(one, wanted) for one in (() if kept is None else kept.audited)]
    seen = {finding.fingerprint for one in read for finding in one.findings}
    missing = [one for mark, one in wanted.items() if mark not in seen]
    is_whole = kept is not None and kept.status == "ok" and not missing
    known = () if is_whole else tuple(_subjects(host, read, nics(host), missing))
    place = InventoryHost(host.name, host.uri, host.site)
    if kept is not None:
        return replace(kept, host=place, audited=(*_completed(read, missing, host), *known))
    at = host.read_at or ""
    result = TargetResult(host.uri, host.status, host.error or None)
    status: HostStatus = "failed" if host.audit is None else "ok"
    return HostReading(
        host=place, status=status, started=at, finished=at, result=result, audited=known
    )


def changes_of(summary: FleetSummary) -> PageChanges | None:
    """Differences from the previous audit; None: there is none."""
    if len(summary.audits) < 2:
        return None
    newest = summary.newest
    return PageChanges(
        since=summary.audits[-2].started,
        new=newest.new,
        reopened=newest.reopened,
        fixed=newest.fixed,
        gone=newest.gone,
        unseen=newest.stale,
        nics_added=summary.nics_added,
        nics_removed=summary.nics_removed,
    )


def known_host(host: FleetHost, reading: HostReading) -> PageHost:
    """Result of reading a host, with the time of its last reading if the newest audit did not read
    it."""
    stale = "" if host.is_fresh or host.read_at is None else host.read_at
    error = host.error if host.status != "ok" else ""
    if not host.is_fresh and not host.is_tried:
        error = "the newest audit did not include it"
    status = host.status if host.audit is not None else "failed"
    return PageHost(
        name=host.name,
        status=status,
        site=host.site,
        error=error,
        domains=sum(one.scope == "domain" for one in reading.audited),
        nics=sum(one.nics for one in reading.audited),
        stale_since=stale,
        was_tried=host.is_tried,
    )


def coverage_notes(summary: FleetSummary, untried: int) -> Iterator[PageNote]:
    """Notes on the parts of the fleet not included in the newest audit. ``untried``: number of
    hosts."""
    newest = summary.newest
    shares = ((newest.host_share, "hosts"), (newest.nic_share, "NICs"))
    parts = [f"a sample of {percent(share)} of the {name}" for share, name in shares if share < 1]
    if newest.limit:
        parts.append(f"hosts that match {newest.limit}")
    if parts or untried:
        looked = " and ".join(parts) or "a part of the hosts"
        rest = f"; {count(untried, 'host')} of the inventory shown as last read" if untried else ""
        message = f"the newest audit ({moment(newest.started)}) was to look at {looked}{rest}"
        yield PageNote("not read", "", message)


def measured_of(results: Iterable[NicMeasurement]) -> dict[tuple[str, str], str]:
    """Guest and MAC address -> a sentence on the newest two measurements there."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in results:
        some = found.setdefault((one.domain, one.mac.lower()), [])
        if len(some) < 2:
            some.append(_measured(one))
    return {key: "; ".join(some) for key, some in found.items()}


def measured_on(
    audited: Audited, measured: Mapping[tuple[str, str], str]
) -> dict[int, str]:  # fmt: skip
    """Index of a guest's NIC -> the sentence on measurements of it."""
    return {
        row.index: measured[audited.subject, row.mac.lower()]
        for row in (audited.rows if measured else ())
        if row.mac is not None and (audited.subject, row.mac.lower()) in measured
    }


def _measured(one: NicMeasurement) -> str:
    interval = ""
    if one.low95 is not None and one.high95 is not None:
        interval = f" (95 % interval {one.low95:+,.0f} to {one.high95:+,.0f} %)"
    change = f", {one.before_nic} → {one.after_nic}" if one.before_nic and one.after_nic else ""
    return (
        f"{one.percent:+,.0f} % {one.metric} of {one.workload}{interval}{change}, "
        f"{moment(one.started)}"
    )


def _open_part(audited: Audited, wanted: Collection[str]) -> Audited:
    """The results with only the findings that are open in the history."""
    findings = tuple([one for one in audited.findings if one.fingerprint in wanted])
    is_whole = len(findings) == len(audited.findings)
    return audited if is_whole else replace(audited, findings=findings)


def _key(scope: str, subject: str, uuid: str | None, file: str | None) -> Subject:
    return (scope, uuid or subject, "" if uuid else file or "")


def _key_of(one: Audited | FindingRecord) -> Subject:
    return _key(one.scope, one.subject, one.uuid, one.file)


def _completed(
    read: Iterable[Audited], missing: Iterable[FindingRecord], host: FleetHost
) -> Iterator[Audited]:
    """The results, completed with findings that only the history has."""
    more: dict[Subject, list[FindingRecord]] = {}
    for one in missing:
        more.setdefault(_key_of(one), []).append(one)
    for audited in read:
        added = more.pop(_key_of(audited), ())
        made = tuple(_finding(one, audited.rows, host) for one in added)
        yield replace(audited, findings=(*audited.findings, *made)) if made else audited


def _subjects(
    host: FleetHost,
    read: Sequence[Audited],
    nics: Iterable[NicRow],
    findings: Iterable[FindingRecord],
) -> Iterator[Audited]:
    """Guests, files and the host itself, if no reading contains them."""
    done = set(map(_key_of, read))
    rows: dict[Subject, list[NicRow]] = {}
    about: dict[Subject, list[FindingRecord]] = {}
    names: dict[Subject, tuple[str, str | None]] = {}
    for nic in nics:
        key = _key("domain", nic.domain, nic.uuid, None)
        rows.setdefault(key, []).append(nic)
        names.setdefault(key, (nic.domain, nic.uuid))
    for finding in findings:
        key = _key_of(finding)
        about.setdefault(key, []).append(finding)
        names.setdefault(key, (finding.subject, finding.uuid))
    for key, (name, uuid) in names.items():
        if key not in done:
            yield _subject(host, key, (name, uuid), tuple(rows.get(key, ())), about.get(key, ()))


def _subject(
    host: FleetHost,
    key: Subject,
    named: tuple[str, str | None],
    rows: tuple[NicRow, ...],
    findings: Sequence[FindingRecord],
) -> Audited:
    owners = [row.owner for row in rows] or [one.owner for one in findings]
    return Audited(
        target=host.uri,
        subject=named[0],
        uuid=named[1],
        owner=_keeper(owners[0]) if owners else "libvirt",
        scope=_SCOPES.get(key[0], "domain"),
        nics=len(rows),
        findings=tuple(_finding(one, rows, host) for one in findings),
        file=key[2] or None,
        rows=rows,
    )


def _finding(one: FindingRecord, rows: Iterable[NicRow], host: FleetHost) -> Finding:
    change = None if one.field is None else Change(one.field, one.old, one.new, one.safe)
    owner = _keeper(one.owner)
    fix = _WORDINGS.worded(change, f"`vnicaudit rules {one.rule}` says more.", owner)
    return Finding(
        rule=one.rule,
        name=one.name,
        severity=one.severity,
        confidence=one.confidence,
        message=one.message,
        about=_about(one, rows),
        location=Location(host.uri, one.file),
        owner=owner,
        change=change,
        fingerprint=one.fingerprint,
        fix=fix.text,
        fixes=fix.values,
    )


def _about(one: FindingRecord, rows: Iterable[NicRow]) -> Ref:
    if one.mac is not None or one.nic_index is not None:
        same = [row.index for row in rows if one.mac is not None and row.mac == one.mac]
        return Ref("nic", one.subject, one.uuid, one.mac, same[0] if same else one.nic_index)
    kind = _KINDS.get(one.scope, "domain")
    return Ref(kind) if kind in ("host", "config") else Ref(kind, one.subject, one.uuid)


def _keeper(name: str) -> FindingOwner:
    return _OTHER_OWNERS.get(name) or owner_named(name)
