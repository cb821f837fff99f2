"""Guests that a run reads several times: from a definition, a log, a list of processes, a dump.

Such a guest is counted once. What a log, a list of processes or the dump of a running guest shows
is fixed where the guest is defined, and told once, of the definition if that shows it, too: only if
one definition was read. The memory for each guest is bounded, and so is their number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.macs import station_mac
from vnicaudit.base.wording import bare_uuid
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain, LiveFacts, PendingChanges, StagedNic
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, VIRTIO
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.report import Audited, DataPath, Reading, ReadingKind

if TYPE_CHECKING:
    from vnicaudit.audit.work import Product, Work
    from vnicaudit.model.finding import Finding, Location

MAX_GUESTS = 100_000
"""Maximum number of guests that are compared with each other."""
_MAX_WAITING = 1000
"""Maximum number of judgements of logs and the like that wait for the definition."""
_NAMED = 3
"""Guests, and places of one, that are named in a note."""
_COPIES = ("/domainsnapshot", "/domaincheckpoint", "/domainbackup")
"""Places of definitions by which no guest is started."""
_TELLING: tuple[DataPath, ...] = ("does not start", "slow", "fast", "unknown")
_ENCODER = msgspec.msgpack.Encoder()
_COMPARED = ("mac", "site")
"""Scopes of judgements that follow those of single guests."""


def with_reading(product: Product, domain: Domain) -> Product:
    """The judgement of a domain, with what identifies it among other readings. A server of a cloud
    is joined with its domain by the cloud."""
    macs: dict[str, str | None] = {}
    for nic in domain.nics:
        if nic.mac and (mac := station_mac(nic.mac)):
            macs[mac] = None if mac in macs else nic.declared.model
    if not macs or domain.cloud or domain.declared.is_lone_nic or not isinstance(product, Audited):
        return product
    declared, place = domain.declared, domain.location
    name = domain.name if domain.has_name else ""
    if declared.owner == "kubevirt":
        name = name.replace("/", "_")  # as KubeVirt names the libvirt domain: NAMESPACE_NAME
    kind = _kind(domain)
    running = _ENCODER.encode(domain) if kind == "running" and not domain.stopped else b""
    return replace(product, reading=Reading(name, macs, place, kind, running))


def _kind(domain: Domain) -> ReadingKind:
    declared, place = domain.declared, domain.location
    if declared.described_by == "qemu":
        return "other" if declared.owner == "qemu" else "running"
    if declared.described_by == "live" and place.file is not None:
        return "running"
    is_kept = declared.owner == "libvirt" or isinstance(declared.described_by, Manifest)
    return "definition" if is_kept and not (place.xpath or "").startswith(_COPIES) else "other"


class SameTemplates:
    """Replica sets and pools, whose template causes the same findings on all that it makes: they
    are told once, of the first that is read, which in a cluster is the template itself. A finding
    whose fix names its guest (to restart it) is on that guest alone."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], set[int]] = {}
        self._repeats = 0

    def without_repeats(self, product: Product) -> Product:
        """The judgement without what was told already."""
        if not isinstance(product, Audited) or not product.template_key:
            return product
        name = re.escape(product.subject.rpartition("/")[2])
        named = re.compile(rf"(?<![\w.-]){name}(?![\w-])").search
        told = self._told.setdefault((product.target, product.template_key), set())
        found = [one for one in product.findings if named(one.fix) or _cause(one) not in told]
        self._repeats += len(product.findings) - len(found)
        accepted = (one.finding for one in product.suppressed)
        told.update(map(_cause, (*product.findings, *product.baselined, *accepted)))
        return replace(product, findings=tuple(found))

    def notes(self) -> list[str]:
        """A note if some findings were told once."""
        some = (
            f"{self._repeats:,} findings on guests" if self._repeats > 1 else "a finding on a guest"
        )
        text = f"{some} of a replica set or a pool repeated what was told of another one: not shown"
        return [text] if self._repeats else []


def _cause(finding: Finding) -> int:
    """A mark that is the same on every guest of a template."""
    return hash((finding.rule, finding.about.index, finding.message, finding.severity))


class _Guest:
    """One guest: its readings so far, and what is told of those that define it."""

    __slots__ = (
        "affected", "defined", "defined_macs", "name", "nics", "number", "paths", "places",
        "readings", "running", "told", "uuid",
    )  # fmt: skip

    def __init__(self, number: int, name: str, uuid: str) -> None:
        self.number = number
        self.name = name
        self.uuid = uuid
        self.readings = self.nics = 0
        self.places: tuple[Location, ...] = ()
        self.defined: tuple[Location, ...] = ()
        self.defined_macs: dict[str, str | None] = {}
        self.running: set[int] = set()
        """Marks of what was told of its running QEMU."""
        self.told: dict[int, tuple[str, str]] = {}
        """What was told of a definition: :func:`_mark` of a finding -> its rule, and the MAC of its
        NIC."""
        self.affected = False
        self.paths: tuple[DataPath, ...] = ()


class SameGuests:
    """The guests of a run. ``work`` judges what runs once more if its definition has another
    model."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._guests: dict[int, _Guest] = {}
        self._number = 0
        self._waiting: deque[tuple[Audited, Reading, _Guest]] = deque()
        self._again: list[_Guest] = []
        self.read_again = self.nics_again = 0
        """Number of readings, and of their NICs, of guests that had been read before."""

    def take(self, product: Product) -> Iterator[Product]:
        """The products to pass on after this one was read. Judgements of what runs wait for
        ``rest``: until the definitions have been read."""
        if not isinstance(product, Audited):
            yield product
            return
        if product.scope in _COMPARED:
            yield from self.rest()
        reading = product.reading
        if reading is None:
            yield product
            return
        guest = self._guest(product, reading)
        audited = replace(product, reading=None, guest=guest.number)
        if reading.kind == "running":
            self._waiting.append((audited, reading, guest))
            if len(self._waiting) > _MAX_WAITING:
                yield self._running(*self._waiting.popleft())
        else:
            if reading.kind == "definition":
                _define(guest, reading, audited)
            yield self._told(audited, guest)

    def rest(self) -> Iterator[Product]:
        """The judgements that wait."""
        while self._waiting:
            yield self._running(*self._waiting.popleft())

    def notes(self) -> list[str]:
        """The guests that were read several times."""
        found = [_read_again(guest) for guest in self._again]
        if len(found) > _NAMED:
            found[_NAMED:] = ["other guests were read several times as well"]
        return found

    def _guest(self, audited: Audited, reading: Reading) -> _Guest:
        """The guest of a reading, which is counted: one with the same UUID, or the same name if one
        reading has no UUID, that has a MAC address in common."""
        uuid = bare_uuid(audited.uuid) if audited.uuid else ""
        names = filter(None, (uuid, reading.name))
        keys = [hash((name, mac)) for name in names for mac in reading.macs]
        known = filter(None, map(self._guests.get, keys))
        guest = next((one for one in known if not (uuid and one.uuid and one.uuid != uuid)), None)
        if guest is None:
            self._number += 1
            guest = _Guest(self._number, audited.subject, uuid)
        else:
            guest.uuid = guest.uuid or uuid
            self.read_again += 1
            self.nics_again += min(audited.nics, guest.nics)
            if guest.readings == 1 and len(self._again) <= _NAMED:
                self._again.append(guest)
        guest.readings += 1
        guest.nics = max(audited.nics, guest.nics)
        if len(guest.places) <= _NAMED:
            guest.places += (reading.place,)
        if len(self._guests) < MAX_GUESTS:
            for key in keys:
                self._guests.setdefault(key, guest)
        return guest

    def _running(self, audited: Audited, reading: Reading, guest: _Guest) -> Audited:
        """The judgement of what runs: without what is told of the one definition, and without the
        rules that need a definition."""
        pending = _pending_models(reading, guest)
        if pending:
            audited = self._judged_again(audited, reading, pending)
        whole = EVERY_RULE, ALL_BUT_THE_MODEL
        skipped = (one for one in audited.skipped if not guest.defined or one.rule in whole)
        audited = replace(audited, skipped=tuple(skipped))
        if len(guest.defined) == 1:
            known = guest.running.union(guest.told)
            found = [one for one in audited.findings if _mark(one) not in known]
            guest.running.update(map(_mark, found))
            fixed = tuple(_fixed_where_defined(one, guest, pending) for one in found)
            audited = replace(audited, findings=fixed)
        return self._told(audited, guest)

    def _judged_again(
        self, audited: Audited, reading: Reading, pending: Mapping[str, tuple[str, str]]
    ) -> Audited:
        """The judgement of a running guest with the models that its definition has already."""
        domain = msgpack_decoder(Domain).decode(reading.running)
        staged = []
        for nic in domain.nics:
            models = pending.get(station_mac(nic.mac or "") or "")
            if models is not None:
                later = replace(nic.declared, model=models[1])
                staged.append(StagedNic(nic.mac, (("model", *models),), later))
        domain = replace(domain, live=LiveFacts(pending=PendingChanges(tuple(staged))))
        again = self._work.domain(domain, None, audited.target)
        return replace(again, guest=audited.guest) if isinstance(again, Audited) else audited

    def _told(self, audited: Audited, guest: _Guest) -> Audited:
        """A judgement as it is reported. A NIC is slow if one of its readings says so."""
        before = guest.paths
        both = zip_longest(before, audited.paths)
        guest.paths = tuple(min(filter(None, one), key=_TELLING.index) for one in both)
        audited = replace(audited, paths=guest.paths, paths_before=before)
        if guest.affected:
            return replace(audited, again=True)
        guest.affected = bool(audited.findings)
        return audited


def _pending_models(reading: Reading, guest: _Guest) -> dict[str, tuple[str, str]]:
    """MACs of running NICs whose model differs in the one definition: the model of both."""
    if not reading.running or len(guest.defined) != 1:
        return {}
    later = guest.defined_macs
    both = {mac: (now, later.get(mac)) for mac, now in reading.macs.items()}
    return {
        mac: (now, new)
        for mac, (now, new) in both.items()
        if now and new and now != new and not VIRTIO.issuperset((now, new))
    }


def _define(guest: _Guest, reading: Reading, audited: Audited) -> None:
    if len(guest.defined) < 2:
        guest.defined += (reading.place,)
        guest.defined_macs = reading.macs
        for one in audited.findings:
            guest.told[_mark(one)] = (one.rule, _mac_of(one))


def _mark(finding: Finding) -> int:
    return hash((finding.fingerprint, finding.message, finding.severity, finding.confidence))


def _mac_of(finding: Finding) -> str:
    return (finding.about.mac or "") if finding.about.kind == "nic" else ""


def _fixed_where_defined(finding: Finding, guest: _Guest, pending: Container[str]) -> Finding:
    """A finding on what runs, with the definition as the place of its fix, if that has the NIC (it
    may have been plugged in). Advice that changes no definition stays, after a hint at the problems
    that the definition itself has with that NIC, or at its other model (``pending``)."""
    place, mac = guest.defined[0], _mac_of(finding)
    if mac and station_mac(mac) not in guest.defined_macs:
        return finding
    rules = sorted({one[0] for one in guest.told.values() if one and one[1] == mac})
    if finding.change is None:
        if not rules and station_mac(mac) not in pending:
            return finding
        where = f"{place}, the definition of this guest"
        told = f"First see {where}: {', '.join(rules)} there" if rules else f"See {where}"
        fix = f"{told}. {finding.fix}"
    elif finding.change.field == "model" and guest.defined_macs.get(mac) == finding.change.new:
        fix = (
            f"{place}, the definition of this guest, has {finding.change.new} already: power the "
            "guest off and on."
        )
    elif finding.rule in rules:
        fix = f"Change {place}, the definition of this guest: {finding.rule} there."
    else:
        fix = (
            f"{place} is the definition of this guest: change it there, or power the guest off and "
            "on if it was changed already."
        )
    return replace(finding, change=None, fix=fix, fixes=(), related=(*finding.related, place))


def _read_again(guest: _Guest) -> str:
    shown = ", ".join(map(str, guest.places[:_NAMED])) + (", …" if guest.readings > _NAMED else "")
    text = f"{guest.name} is one guest, read {guest.readings} times ({shown})"
    if len(guest.defined) != 1:
        return text
    place = guest.defined[0]
    return f"{text}; its definition is {place.file or place.target}: change it there"
