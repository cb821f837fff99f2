"""The history in plain Python: sets and loops, to hold the real one against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.report import Audited


@dataclass
class Interval:
    """A finding on a host, while it was open in one way."""

    host: str
    mark: str
    rule: str
    uuid: str
    mac: str | None
    message: str
    accepted: bool
    opened: int
    opened_as: str
    first_seen: str
    reopened: int = 0
    closed: int | None = None
    closed_as: str | None = None
    unlooked: bool = False


@dataclass
class NicInterval:
    """A NIC on a host, while it was in one state."""

    host: str
    uuid: str
    mac: str
    model: str | None
    opened: int
    opened_as: str
    first_seen: str
    closed: int | None = None
    closed_as: str | None = None


@dataclass
class PlainHost:
    """What is known of one."""

    tried: int | None = None
    read: int | None = None
    read_at: str = ""
    rules: tuple[str, ...] = ()


@dataclass
class PlainHistory:
    """All of it."""

    findings: list[Interval] = field(default_factory=list)
    nics: list[NicInterval] = field(default_factory=list)
    hosts: dict[str, PlainHost] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    number: int = 0
    flows: Counter[tuple[str, str]] = field(default_factory=Counter)

    def store(self, audit: FleetAudit, readings: list[HostReading]) -> None:
        """Take an audit in."""
        self.number += 1
        self.flows = Counter()
        self.listed = {one.name for one in audit.hosts}
        taken = []
        for one in readings:
            host = self.hosts.setdefault(one.host.name, PlainHost())
            host.tried = self.number
            if one.status == "failed" or one.finished < host.read_at:
                continue
            taken.append(one)
            host.read, host.read_at = self.number, one.finished
            host.rules = audit.coverage.rules
        for one in taken:
            self._close_nics(one, audit)
            self._close_findings(one, audit)
        for one in taken:
            self._open_nics(one)
            self._open_findings(one)
        self._end_where_nobody_looked({one.host.name for one in taken})
        self._mark_moves({one.host.name: one.finished for one in taken})

    def _end_where_nobody_looked(self, read: set[str]) -> None:
        """What appeared on one host has left the hosts that this audit did not read."""
        marks = {f.mark for f in self.findings if self._arrived(f)}
        keys = {(n.uuid, n.mac) for n in self.nics if self._arrived(n)}
        ended: list[Interval | NicInterval] = [f for f in self.findings if f.mark in marks]
        ended += [n for n in self.nics if (n.uuid, n.mac) in keys]
        for one in ended:
            if one.closed is None and one.host not in read:
                one.closed, one.closed_as = self.number, "moved"

    def _close_findings(self, one: HostReading, audit: FleetAudit) -> None:
        seen = {mark for mark, *_ in came_up(one)}
        for old in self.open_findings(one.host.name):
            if old.mark in seen:
                old.unlooked = False
                continue
            if old.rule not in audit.coverage.rules:
                continue
            how = self._ended(old, one, audit)
            if how is None:
                old.unlooked = True
            else:
                old.closed, old.closed_as = self.number, how

    def _ended(self, old: Interval, one: HostReading, audit: FleetAudit) -> str | None:
        whole = one.status == "ok" and audit.coverage.nic_share == 1
        read = [each for each in one.audited if each.uuid == old.uuid]
        if not read:
            return "gone" if whole else None
        (domain,) = read
        if old.mac is not None and old.mac not in {row.mac for row in domain.rows}:
            return "gone"
        for skipped in domain.skipped:
            about = skipped.about
            assert about.kind == "nic"
            if skipped.rule == old.rule and about.mac == old.mac:
                return None
        return "fixed"

    def _open_findings(self, one: HostReading) -> None:
        for mark, rule, uuid, mac, message, accepted in came_up(one):
            host = one.host.name
            now = [each for each in self.open_findings(host) if each.mark == mark]
            made = Interval(
                host, mark, rule, uuid, mac, message, accepted, self.number, "new", one.finished
            )
            if now:
                (old,) = now
                if (old.message, old.accepted) == (message, accepted):
                    continue
                how = "changed"
                if old.accepted != accepted:
                    how = "suppressed" if accepted else "unsuppressed"
                old.closed, old.closed_as = self.number, how
                made.opened_as, made.first_seen, made.reopened = how, old.first_seen, old.reopened
            else:
                # of hosts that were written together with this one, nothing new counts
                before = [f for f in self.findings if f.mark == mark and not self._is_now(f)]
                if before:
                    self._origin(made, before)
                if not accepted and made.opened_as in ("new", "reopened"):
                    self.flows[(rule, made.opened_as)] += 1
            self.findings.append(made)

    def _is_now(self, one: Interval) -> bool:
        return one.opened == self.number

    def _origin(self, made: Interval, before: list[Interval]) -> None:
        sources = [each for each in before if _is_elsewhere(made.host, each, self.number)]
        last = max(before, key=lambda each: (each.closed or 0, each.closed_as or "", each.reopened))
        made.first_seen = min(each.first_seen for each in before)
        made.reopened = last.reopened
        if sources:
            made.opened_as = "moved"
            made.reopened = max(each.reopened for each in sources)
        elif last.closed_as == "fixed":
            made.opened_as = "reopened"
            made.reopened += 1
        else:
            made.opened_as = "returned"

    def _close_nics(self, one: HostReading, audit: FleetAudit) -> None:
        whole = one.status == "ok" and audit.coverage.nic_share == 1
        seen = {(row.uuid, row.mac) for each in one.audited for row in each.rows}
        read = {each.uuid for each in one.audited}
        for old in self.open_nics(one.host.name):
            if (old.uuid, old.mac) not in seen and (whole or old.uuid in read):
                old.closed, old.closed_as = self.number, "gone"

    def _open_nics(self, one: HostReading) -> None:
        host = one.host.name
        for row in (row for each in one.audited for row in each.rows):
            uuid, mac = str(row.uuid), str(row.mac)
            key = (uuid, mac)
            now = [each for each in self.open_nics(host) if (each.uuid, each.mac) == key]
            made = NicInterval(
                host, uuid, mac, row.model.effective, self.number, "new", one.finished
            )
            if now:
                (old,) = now
                if old.model == made.model:
                    continue
                old.closed, old.closed_as = self.number, "changed"
                made.opened_as, made.first_seen = "changed", old.first_seen
            else:
                before = [
                    each
                    for each in self.nics
                    if (each.uuid, each.mac) == key and each.opened != self.number
                ]
                if before:
                    made.first_seen = min(each.first_seen for each in before)
                    elsewhere = any(_is_elsewhere(host, each, self.number) for each in before)
                    made.opened_as = "moved" if elsewhere else "returned"
            self.nics.append(made)

    def _settle(self, finished: dict[str, str]) -> None:
        """What is on one host more, and still on the others, has not moved."""
        for one in filter(self._arrived, self.findings):
            same = [f for f in self.findings if f.mark == one.mark and not self._is_now(f)]
            if not _has_left(one, same, self.number):
                one.opened_as, one.first_seen, one.reopened = "new", finished[one.host], 0
                if ended := [f for f in same if f.closed and f.closed_as not in _CHANGES]:
                    self._origin(one, ended)
                if not one.accepted and one.opened_as in ("new", "reopened"):
                    self.flows[(one.rule, one.opened_as)] += 1
        for nic in filter(self._arrived, self.nics):
            alike = [
                n
                for n in self.nics
                if (n.uuid, n.mac) == (nic.uuid, nic.mac) and n.opened != self.number
            ]
            if not _has_left(nic, alike, self.number):
                gone = [n for n in alike if n.closed and n.closed_as not in _CHANGES]
                nic.opened_as = "returned" if gone else "new"
                nic.first_seen = min((n.first_seen for n in gone), default=finished[nic.host])

    def _mark_moves(self, finished: dict[str, str]) -> None:
        marks = {f.mark for f in self.findings if f.closed is None}
        keys = {(n.uuid, n.mac) for n in self.nics if n.closed is None}
        for finding in self.findings:
            if finding.mark in marks and self._left(finding):
                finding.closed_as = "moved"
        for nic in self.nics:
            if (nic.uuid, nic.mac) in keys and self._left(nic):
                nic.closed_as = "moved"
        self._settle(finished)
        for one in self.findings:
            if one.closed == self.number and one.closed_as in ("fixed", "gone"):
                self.flows[(one.rule, one.closed_as)] += not one.accepted

    def _arrived(self, one: Interval | NicInterval) -> bool:
        return one.closed is None and (one.opened, one.opened_as) == (self.number, "moved")

    def _left(self, one: Interval | NicInterval) -> bool:
        return (one.closed, one.closed_as) == (self.number, "gone")

    def open_findings(self, host: str) -> list[Interval]:
        """Of that host."""
        return [one for one in self.findings if one.host == host and one.closed is None]

    def open_nics(self, host: str) -> list[NicInterval]:
        """Of that host."""
        return [one for one in self.nics if one.host == host and one.closed is None]

    def state(self, one: Interval) -> str:
        """As the view has it."""
        host = self.hosts[one.host]
        if one.closed is not None:
            return str(one.closed_as)
        if one.accepted:
            return "suppressed"
        if host.tried != host.read or one.unlooked or one.rule not in host.rules:
            return "not looked at"
        if one.opened == host.read and one.opened_as in ("new", "reopened", "returned", "moved"):
            return one.opened_as
        return "known"

    def counts(self, audit: FleetAudit) -> dict[str, Counter[str]]:
        """Open, stale and accepted findings of the inventory's hosts by rule, after an audit."""
        found: dict[str, Counter[str]] = {kind: Counter() for kind in ("open", "stale", "accepted")}
        for one in self.findings:
            if one.closed is None and one.host in self.listed:
                host = self.hosts[one.host]
                looked = host.read == self.number and one.rule in audit.coverage.rules
                kind = "stale" if one.unlooked or not looked else "open"
                found["accepted" if one.accepted else kind][one.rule] += 1
        return found


_CHANGES = ("changed", "suppressed", "unsuppressed")


def _has_left(one: Interval | NicInterval, same: Sequence[Interval | NicInterval], at: int) -> bool:
    """Another host, for the host of ``one``."""
    return any(
        each.host != one.host and (each.closed, each.closed_as) == (at, "moved") for each in same
    )


def _is_elsewhere(host: str, one: Interval | NicInterval, number: int) -> bool:
    if one.host == host:
        return False
    return one.closed is None or (one.closed == number and one.closed_as != "fixed")


def came_up(one: HostReading) -> list[tuple[str, str, str, str | None, str, bool]]:
    """Fingerprint, rule, UUID, MAC, message and whether it is accepted."""
    return [row for each in one.audited for row in _of(each)]


def _of(one: Audited) -> list[tuple[str, str, str, str | None, str, bool]]:
    both = [(each, False) for each in one.findings]
    both += [(each.finding, True) for each in one.suppressed]
    return [
        (
            each.fingerprint,
            each.rule,
            str(one.uuid),
            each.about.mac if each.about.kind == "nic" else None,
            each.message,
            accepted,
        )
        for each, accepted in both
    ]
