"""Drift by its definition: two states of what was known of a fleet, compared in plain loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

from vnicaudit.model.finding import Finding
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.report import Audited

NicKey = tuple[str, str | None]
"""The guest's UUID, and the address."""
Models = list[str | None]
"""Of the NICs of one guest with one address, in their order."""


class NicDrift(NamedTuple):
    """A NIC that differs. ``before``, ``now``: host and model; of one that is at one of the audits
    alone, None on the other side."""

    state: str
    key: NicKey
    before: tuple[str, str | None] | None = None
    now: tuple[str, str | None] | None = None


class FindingDrift(NamedTuple):
    """A finding that differs."""

    state: str
    host: str
    mark: str


class PlainFinding(NamedTuple):
    """An open finding. ``nic``: the address or index of a NIC; None: it is on the whole guest."""

    rule: str
    uuid: str
    nic: str | int | None
    message: str
    accepted: bool


@dataclass
class PlainHost:
    """What is known of a host: its guests' NICs by UUID, and its findings by fingerprint."""

    nics: dict[str, list[tuple[str | None, str | None]]] = field(default_factory=dict)
    findings: dict[str, PlainFinding] = field(default_factory=dict)
    read_at: str = ""

    def models(self) -> defaultdict[NicKey, Models]:
        """The models of its NICs by guest and address."""
        models: defaultdict[NicKey, Models] = defaultdict(list)
        for uuid, nics in self.nics.items():
            for mac, model in nics:
                models[(uuid, mac)].append(model)
        return models


@dataclass
class PlainState:
    """All that is known after an audit. ``left``: NICs that have left a host, ever; ``ends``: how
    and in which audit a finding left a host last."""

    number: int = 0
    hosts: defaultdict[str, PlainHost] = field(default_factory=lambda: defaultdict(PlainHost))
    read: set[str] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)
    left: set[NicKey] = field(default_factory=set)
    ends: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def after(self, audit: FleetAudit, readings: Sequence[HostReading]) -> PlainState:
        """The state once that audit is stored."""
        new = deepcopy(self)
        new.number, new.read, new.rules = self.number + 1, set(), set(audit.coverage.rules)
        for one in readings:
            if new._is_news(one):
                new.read.add(one.host.name)
                new._look(one, whole=one.status == "ok" and audit.coverage.nic_share == 1)
        new._end_where_nobody_looked(self)
        new._note_what_left(self)
        return new

    def _is_news(self, one: HostReading) -> bool:
        host = self.hosts[one.host.name]
        if one.status == "failed" or one.finished < host.read_at:
            return False
        host.read_at = one.finished
        return True

    def _look(self, one: HostReading, *, whole: bool) -> None:
        host = self.hosts[one.host.name]
        read = {str(each.uuid): each for each in one.audited}
        now = dict(_findings(one))
        for mark, old in list(host.findings.items()):
            if mark not in now and old.rule in self.rules:
                how = _end(old, read.get(old.uuid), whole=whole)
                if how is not None:
                    del host.findings[mark]
                    self.ends[(one.host.name, mark)] = (self.number, how)
        host.findings.update(now)
        if whole:
            host.nics.clear()
        for uuid, each in read.items():
            host.nics[uuid] = [(row.mac, row.model.effective) for row in each.rows]

    def _end_where_nobody_looked(self, before: PlainState) -> None:
        """What appeared on one host has left the hosts that this audit did not read."""
        marks: set[str] = set()
        keys: set[NicKey] = set()
        for name in self.read:
            host, had = self.hosts[name], before.hosts[name]
            marks |= host.findings.keys() - had.findings.keys()
            models = had.models()
            keys |= {key for key, some in host.models().items() if len(some) > len(models[key])}
        for name in self.hosts.keys() - self.read:
            host = self.hosts[name]
            for mark in marks & host.findings.keys():
                del host.findings[mark]
                self.ends[(name, mark)] = (self.number, "moved")
            for uuid, nics in host.nics.items():
                host.nics[uuid] = [one for one in nics if (uuid, one[0]) not in keys]

    def _note_what_left(self, before: PlainState) -> None:
        known = {mark for host in self.hosts.values() for mark in host.findings}
        for name, host in self.hosts.items():
            had = before.hosts[name]
            now = host.models()
            for key, models in had.models().items():
                if len(now[key]) < len(models):
                    self.left.add(key)
        for (name, mark), how in self.ends.items():
            if how == (self.number, "gone") and mark in known:
                self.ends[(name, mark)] = (self.number, "moved")


def _findings(one: HostReading) -> Iterator[tuple[str, PlainFinding]]:
    for each in one.audited:
        for finding, accepted in (
            *((finding, False) for finding in each.findings),
            *((suppressed.finding, True) for suppressed in each.suppressed),
        ):
            about = _nic(finding)
            what = (finding.rule, str(each.uuid), about, finding.message, accepted)
            yield finding.fingerprint, PlainFinding(*what)


def _nic(finding: Finding) -> str | int | None:
    about = finding.about
    return (about.mac or about.index) if about.kind == "nic" else None


def _end(old: PlainFinding, domain: Audited | None, *, whole: bool) -> str | None:
    """How a finding that did not come up ended; None: nobody looked."""
    if domain is None:
        return "gone" if whole else None
    if old.nic is not None and old.nic not in {row.mac or row.index for row in domain.rows}:
        return "gone"
    for skipped in domain.skipped:
        about = skipped.about
        assert about.kind == "nic"
        if skipped.rule == old.rule and (about.mac or about.index) == old.nic:
            return None
    return "fixed"


def nic_drift(a: PlainState, b: PlainState) -> Iterator[NicDrift]:
    """The NICs that differ on the hosts that both audits read."""
    compared = a.read & b.read
    old, new = ({n: one.models() for n, one in s.hosts.items()} for s in (a, b))
    for key in sorted({k for side in (old, new) for one in side.values() for k in one}, key=str):
        left: list[_Somewhere] = []
        came: list[_Somewhere] = []
        for host in sorted(b.hosts, key=lambda name: (name not in compared, name)):
            pairs, ended, begun = _paired(old[host][key] if host in old else [], new[host][key])
            left += [(host, model) for model in ended]
            came += [(host, model) for model in begun]
            if host in compared:
                for was, now in pairs:
                    yield NicDrift("changed", key, (host, was), (host, now))
        yield from _across(key, left, came, (a, b))


def _paired(old: Models, new: Models) -> tuple[list[tuple[str | None, str | None]], Models, Models]:
    """Equal ones apart: pairs of those that differ, then those that are on one side alone."""
    was, now = list(old), list(new)
    for model in old:
        if model in now:
            was.remove(model)
            now.remove(model)
    both = min(len(was), len(now))
    return list(zip(was, now, strict=False)), was[both:], now[both:]


_Somewhere = tuple[str, str | None]
"""Host and model of a NIC."""


def _across(
    key: NicKey,
    left: list[_Somewhere],
    came: list[_Somewhere],
    states: tuple[PlainState, PlainState],
) -> Iterator[NicDrift]:
    a, b = states
    compared = a.read & b.read
    for was, now in _moves(left, came):
        if {was[0], now[0]} & compared:
            yield NicDrift("moved", key, was, now)
    for was in left:
        if was[0] in compared:
            now_at = None if key[1] is None else _elsewhere(b, key, was[0])
            yield NicDrift("gone" if now_at is None else "moved", key, was, now_at)
    for now in came:
        if now[0] in compared:
            was_at = _elsewhere(a, key, now[0], without=b)
            word = "returned" if key in a.left else "new"
            yield NicDrift(word if was_at is None else "moved", key, was_at, now)


def _elsewhere(
    state: PlainState, key: NicKey, host: str, without: PlainState | None = None
) -> _Somewhere | None:
    """Another host that has that NIC, the first by name, and has it no more in that state."""
    stayed = {} if without is None else without.hosts
    first = min(
        (
            n
            for n, one in state.hosts.items()
            if n != host and one.models()[key] and not (n in stayed and stayed[n].models()[key])
        ),
        default="",
    )
    return (first, state.hosts[first].models()[key][0]) if first else None


def _moves(
    left: list[_Somewhere], came: list[_Somewhere]
) -> Iterator[tuple[_Somewhere, _Somewhere]]:
    """NICs of one key that went elsewhere, those of equal models first; the others stay in the
    lists."""
    for alike in (True, False):
        for now in list(came):
            was = next((each for each in left if not alike or each[1] == now[1]), None)
            if was is not None:
                left.remove(was)
                came.remove(now)
                yield was, now


def ambiguous(states: Sequence[PlainState]) -> set[NicKey]:
    """Keys of NICs of which there were ever two: which of them is which cannot be told."""
    found = set()
    for state in states:
        counts: defaultdict[NicKey, int] = defaultdict(int)
        for host in state.hosts.values():
            for key, models in host.models().items():
                counts[key] += len(models)
        found |= {key for key, number in counts.items() if number > 1}
    return found


_Held = dict[str, PlainFinding]
"""One finding, by the hosts that have it."""


def finding_drift(a: PlainState, b: PlainState) -> Iterator[FindingDrift]:
    """The findings that differ: of the rules that both audits ran, on hosts that both read."""
    compared, rules = a.read & b.read, a.rules & b.rules
    for mark in sorted({m for s in (a, b) for one in s.hosts.values() for m in one.findings}):
        old, new = (
            {n: one.findings[mark] for n, one in s.hosts.items() if mark in one.findings}
            for s in (a, b)
        )
        (rule,) = {one.rule for one in (*old.values(), *new.values())}
        if rule in rules:
            told = {one.host: one for one in _finding_across(mark, old, new, (a, b))}
            for host in compared & old.keys() & new.keys():
                state = _change(old[host], new[host])
                if state is not None:
                    told[host] = FindingDrift(state, host, mark)
            yield from told.values()


def _finding_across(
    mark: str, old: _Held, new: _Held, states: tuple[PlainState, PlainState]
) -> Iterator[FindingDrift]:
    a, b = states
    compared = a.read & b.read
    order = sorted(b.hosts, key=lambda name: (name not in compared, name))
    left = [host for host in order if host in old and host not in new]
    came = [host for host in order if host in new and host not in old]
    pairs = list(zip(left, came, strict=False))
    for host in left[len(pairs) :]:
        if host in compared:
            how = _ended(b, mark, host, a.number)
            elsewhere = how == "gone" and new
            yield (
                FindingDrift("moved", min(new), mark)
                if elsewhere
                else FindingDrift(how, host, mark)
            )
    for was, now in pairs:
        if {was, now} & compared:
            state = _change(old[was], new[now])
            yield FindingDrift(state if state in _ACCEPTANCE else "moved", now, mark)
    for host in came[len(pairs) :]:
        if host in compared:
            word = "moved" if left else _origin(a, mark)
            yield FindingDrift("suppressed" if new[host].accepted else word, host, mark)


_ACCEPTANCE = ("suppressed", "unsuppressed")


def _change(was: PlainFinding, now: PlainFinding) -> str | None:
    if was.accepted != now.accepted:
        return "suppressed" if now.accepted else "unsuppressed"
    return "changed" if was.message != now.message else None


def _origin(a: PlainState, mark: str) -> str:
    """Of a finding that was nowhere at the first audit."""
    ends = [how for (_host, each), how in a.ends.items() if each == mark]
    if not ends:
        return "new"
    return "reopened" if max(ends)[1] == "fixed" else "returned"


def _ended(b: PlainState, mark: str, host: str, since: int) -> str:
    """How it left that host, or, where it moved from there first, the last one it was on."""
    ends = [
        (number, name == host, word)
        for (name, each), (number, word) in b.ends.items()
        if each == mark and word != "moved" and number > since
        and mark not in b.hosts[name].findings
    ]  # fmt: skip
    return max(ends)[2] if ends else "gone"
