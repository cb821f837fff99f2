"""Readings of hosts -> candidates: one for each change and place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from vnicaudit.audit.kinds import KINDS
from vnicaudit.model.finding import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Finding,
    OutsideOwner,
    Ref,
    Severity,
    name_of,
)
from vnicaudit.model.fix import Advice, SetOption, SetProperty
from vnicaudit.model.fleet import HostReading, InventoryHost, NicTraffic
from vnicaudit.model.ranking import ChangePlace, Safety
from vnicaudit.model.report import Audited

# The place where the change for a finding is made.


def place_of(finding: Finding, audited: Audited, host: InventoryHost) -> ChangePlace:
    """The file, if the definition is in one; an image, a flavor or a host's settings, if the change
    is made there; else the guest."""
    if file := finding.location.file or audited.file:
        return ChangePlace("file", file)
    if kind := KINDS[audited.scope].place:
        name = host.name if kind == "host" else audited.subject
        return ChangePlace(kind, name, audited.uuid or "", host.name if kind == "host" else "")
    if any(isinstance(fix, SetOption) for fix in finding.fixes):
        return ChangePlace("host", host.name, host=host.name)
    placed = audited.placed
    if placed is not None and placed.image_id and _is_of_image(finding):
        return ChangePlace("image", placed.image, placed.image_id)
    kind = "server" if finding.about.kind == "server" else "domain"
    return ChangePlace(kind, audited.subject, audited.uuid or "", host.name)


def _is_of_image(finding: Finding) -> bool:
    """True if everything to set is a property of the image."""
    properties = [
        part
        for fix in finding.fixes
        if isinstance(fix, Advice)
        for part in fix.parts
        if isinstance(part, SetProperty)
    ]
    return bool(properties) and all(one.of in ("image", "server-image") for one in properties)


_MANY = ChangePlace("many")
_SEVERITY = {name: number for number, name in enumerate(SEVERITIES)}
_CONFIDENCE = {name: number for number, name in enumerate(CONFIDENCES)}
_BYTES, _DROPS, _ERRORS, _HOST_BYTES = "bytes", "drops", "errors", "bytes of hosts"
Traffic = Mapping[tuple[str, str], NicTraffic]
"""Key: UUID of the domain, and host device of the NIC."""


class ChangeIdentity(NamedTuple):
    """Identical changes have equal identities. If no change can be proposed, ``field`` is empty and
    changes are distinguished by ``rule``. ``removes``: the field is removed."""

    rule: str
    owner: str
    field: str
    value: str
    removes: bool
    safety: Safety


class CandidateKey(NamedTuple):
    """A change in one place. Keys are sortable, so that ties are always resolved in the same
    way."""

    change: ChangeIdentity
    place: tuple[str, str, str, str]


class Candidate:
    """A change in a place, and totals of what it would fix."""

    __slots__ = (
        "before", "counted", "findings", "first", "grade", "guests", "host", "hosts", "key",
        "nics", "off", "place", "places", "reachable", "rules", "sums",
    )  # fmt: skip

    def __init__(self, key: CandidateKey, place: ChangePlace, first: Finding) -> None:
        self.key = key
        self.place = place
        self.first = first
        self.places: set[ChangePlace] | None = None
        """All places, if several are combined."""
        self.rules: dict[str, str] = {}
        self.grade = (-1, -1)
        self.before: tuple[str | None, ...] = ()
        """The models of its NICs before the change."""
        self.reachable = False
        self.findings = self.guests = self.off = self.nics = self.hosts = self.counted = 0
        self.host = ""
        self.sums: Mapping[str, int] = {}
        """Rates in thousandths: integers, whose sum does not depend on the order of hosts."""

    @property
    def severity(self) -> Severity:
        """The highest severity among its findings."""
        return SEVERITIES[self.grade[0]]

    @property
    def confidence(self) -> Confidence:
        """The highest confidence among its most severe findings."""
        return CONFIDENCES[self.grade[1]]

    @property
    def is_off(self) -> bool:
        """True if all its guests are shut off."""
        return 0 < self.guests == self.off

    @property
    def packets_lost(self) -> float:
        """Packets dropped or with errors per second, as far as known."""
        return (self.drops or 0.0) + (self.errors or 0.0)

    @property
    def rate(self) -> float | None:
        """Bytes per second; None: not known."""
        return self._per_second(_BYTES)

    @property
    def drops(self) -> float | None:
        """Packets dropped per second; None: not known."""
        return self._per_second(_DROPS)

    @property
    def errors(self) -> float | None:
        """Packets with errors per second; None: not known."""
        return self._per_second(_ERRORS)

    @property
    def share(self) -> float | None:
        """Share of the bytes of its hosts, from 0 to 1; None: not known."""
        total = self.sums.get(_HOST_BYTES)
        if self.rate is None or not total:
            return None
        return min(1.0, self.sums[_BYTES] / total)

    def add_rate(self, name: str, rate: float | None) -> None:
        """Add a rate to a sum; an unknown rate adds nothing."""
        if rate is not None:
            self.add_thousandths(name, round(rate * 1000))

    def add_thousandths(self, name: str, number: int) -> None:
        """Add a number to a sum."""
        self.sums = {**self.sums, name: self.sums.get(name, 0) + number}

    def _per_second(self, name: str) -> float | None:
        return self.sums[name] / 1000 if name in self.sums else None


class Candidates:
    """All changes proposed by readings. ``per_place`` False: the same change in several places is
    one candidate; guests that lose packets are also candidates of their own
    (:meth:`losing_packets`)."""

    def __init__(self, *, per_place: bool = True) -> None:
        self._losing = None if per_place else Candidates()
        self._all: dict[CandidateKey, Candidate] = {}
        self._places: Counter[ChangeIdentity] = Counter()
        self.findings = 0
        self.traffic_known = False

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def elsewhere(self, one: Candidate) -> int:
        """Number of other places in which the same change is proposed."""
        if one.places is not None:
            return 0
        change = one.key.change
        everywhere = self._all.get(_key(change, _MANY))
        places = None if everywhere is None else everywhere.places
        return (self._places[change] if places is None else len(places)) - 1

    def losing_packets(self) -> Iterator[Candidate]:
        """Guests that lose packets, where the same change is proposed for others too."""
        if self._losing is not None:
            for one in self._losing:
                is_guest = one.place.kind in ("domain", "server")
                if is_guest and one.packets_lost >= 1 and self.elsewhere(one):
                    yield one

    def add(self, reading: HostReading) -> None:
        """Add all findings of one host."""
        traffic = {(one.uuid, one.device): one for one in reading.traffic}
        total = sum(round((one.bytes_per_second or 0.0) * 1000) for one in reading.traffic)
        self.traffic_known = self.traffic_known or bool(traffic)
        for audited in reading.audited:
            for candidate, nics in self._of(audited, reading).items():
                _count(candidate, nics, audited, traffic)
                if candidate.host != reading.host.name:
                    candidate.host = reading.host.name
                    candidate.hosts += 1
                    if total:
                        candidate.add_thousandths(_HOST_BYTES, total)
        if self._losing is not None:
            losing = {
                one.uuid
                for one in reading.traffic
                if (one.drops_per_second or 0) + (one.errors_per_second or 0) > 0
            }
            some = tuple(one for one in reading.audited if one.uuid in losing)
            if some:
                self._losing.add(msgspec.structs.replace(reading, audited=some))

    def _of(self, audited: Audited, reading: HostReading) -> dict[Candidate, set[int]]:
        """The candidates of one guest, each with the indices of the NICs that it fixes."""
        cured: dict[Candidate, set[int]] = {}
        if not audited.findings:
            return cured
        models = {row.index: row.model.effective for row in audited.rows}
        for finding in audited.findings:
            candidate = self._candidate(finding, place_of(finding, audited, reading.host))
            nics = _nics(finding, audited)
            _judge(candidate, finding)
            for index in nics:
                model = models.get(index)
                if model not in candidate.before:
                    candidate.before = (*candidate.before, model)
            cured[candidate] = cured.get(candidate, nics) | nics
        self.findings += len(audited.findings)
        return cured

    def _candidate(self, finding: Finding, place: ChangePlace) -> Candidate:
        change = _identity(finding)
        is_combined = self._losing is not None
        shown = _MANY if is_combined else place
        key = _key(change, shown)
        candidate = self._all.get(key)
        if candidate is None:
            candidate = self._all[key] = Candidate(key, shown, finding)
            candidate.places = set() if is_combined else None
            self._places[change] += 1
        if candidate.places is not None:
            candidate.places.add(place)
        return candidate


def _key(change: ChangeIdentity, place: ChangePlace) -> CandidateKey:
    return CandidateKey(change, (place.kind, place.name, place.id, place.host))


def _identity(finding: Finding) -> ChangeIdentity:
    owner, change = name_of(finding.owner), finding.change
    if change is None:
        return ChangeIdentity(finding.rule, owner, "", "", False, "none")
    safety: Safety = "safe" if change.safe else "unsafe"
    return ChangeIdentity("", owner, change.field, change.new or "", change.new is None, safety)


def _nics(finding: Finding, audited: Audited) -> set[int]:
    about = finding.about
    if about.kind == "nic":
        return set() if about.index is None else {about.index}
    return set(range(audited.nics)) if isinstance(about, Ref) else set()


def _judge(candidate: Candidate, finding: Finding) -> None:
    """Add the finding's own grade, rule and words."""
    grade = (_SEVERITY[finding.severity], _CONFIDENCE[finding.confidence])
    if grade > candidate.grade:
        candidate.grade = grade
    candidate.findings += 1
    candidate.rules[finding.rule] = finding.name
    if finding.fix and not isinstance(finding.owner, OutsideOwner):
        candidate.reachable = True
    first = candidate.first
    if finding is not first and _word_order(finding) < _word_order(first):
        candidate.first = finding


def _word_order(finding: Finding) -> tuple[str, str]:
    """Sort key that decides whose words are shown, independent of the order of findings."""
    return finding.fingerprint, finding.fix


def _count(candidate: Candidate, nics: set[int], audited: Audited, traffic: Traffic) -> None:
    """Add the NICs of one guest, each once, and their traffic."""
    if audited.scope == "domain":
        candidate.guests += 1
        candidate.off += bool(audited.rows) and all(row.active is False for row in audited.rows)
    candidate.nics += len(nics)
    if not traffic:
        return
    for row in audited.rows:
        if row.index in nics and row.target_dev is not None:
            measured = traffic.get((row.uuid or "", row.target_dev))
            if measured is not None:
                candidate.counted += 1
                candidate.add_rate(_BYTES, measured.bytes_per_second)
                candidate.add_rate(_DROPS, measured.drops_per_second)
                candidate.add_rate(_ERRORS, measured.errors_per_second)
