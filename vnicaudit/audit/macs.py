"""NICs of one run that share a MAC address.

What is kept of each NIC is bounded, and so is their number. The same guest read twice (its file and
libvirt, a snapshot, a backup) is one: by its UUID; by its name where one reading has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.audit.catalogue import RuleSet
from vnicaudit.audit.fingerprint import bare_uuid, digest, whose
from vnicaudit.audit.judgement import Tray, ask, finding_of
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import NicRef
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.nic import DESCRIPTORS, Nic, is_multicast
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import MacSubject

MAX_NICS = 500_000
"""NICs that are compared with one another, at most: those that share nothing have about 400 bytes
each."""
_MAX_ALIKE = 64
"""NICs with one MAC that are told apart."""

_ALONE = frozenset({"manifest", "server"})
"""Forms whose NICs are compared with those of their own guest alone: KubeVirt's pods have networks
of their own, and Neutron keeps the MACs of a network's ports apart."""
_PRIVATE = frozenset({"user", "null"})
"""Types whose network has one guest in it."""
_ASSIGNED = "hostdev"


def seen(domain: Domain, target: str) -> tuple[NicSeen, ...]:
    """What is compared of a domain's NICs."""
    found = ((nic, _normal(nic.mac)) for nic in domain.nics if nic.mac)
    return tuple(_seen(domain, nic, mac, target) for nic, mac in found if mac is not None)


class MacTable:
    """Every NIC so far, by MAC."""

    def __init__(self) -> None:
        self._first: dict[str, bytes] = {}
        self._alike: dict[str, list[NicSeen]] = {}
        self._kept = 0
        self.left_out = 0
        """NICs that were not compared, for want of room."""

    def take(self, nics: Iterable[NicSeen]) -> None:
        """Note the NICs of one domain."""
        for nic in nics:
            known = self._first.get(nic.mac)
            if known is not None:
                self._add(nic, known)
            elif self._has_room():
                self._first[nic.mac] = _ENCODER.encode(nic)

    def shared(self) -> Iterator[MacSubject]:
        """Each NIC that has its MAC in common with others, in the order in which they were read."""
        for alike in self._alike.values():
            for nic in alike:
                others = tuple(other for other in alike if other is not nic and _meet(nic, other))
                if others:
                    yield MacSubject(nic, others)

    def _add(self, nic: NicSeen, known: bytes) -> None:
        alike = self._alike.get(nic.mac) or [_DECODER.decode(known)]
        if any(_again(nic, other) for other in alike):
            return
        if len(alike) >= _MAX_ALIKE:
            self.left_out += 1
        elif self._has_room():
            self._alike[nic.mac] = [*alike, nic]

    def _has_room(self) -> bool:
        """Whether one more NIC can be kept, which is counted: as kept, or as left out."""
        if self._kept >= MAX_NICS:
            self.left_out += 1
            return False
        self._kept += 1
        return True


class MacJudge:
    """Judges with a fixed set of rules."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        self._rules = RuleSet(rule_ids)

    @property
    def has_rules(self) -> bool:
        """Whether there is a rule for what only several NICs together tell."""
        return bool(self._rules.of("mac"))

    def audit(self, subject: MacSubject) -> Audited:
        """Judge one NIC beside those that have its MAC."""
        nic, tray = subject.nic, Tray()
        ref = NicRef(
            nic.domain, nic.uuid and _hyphened(nic.uuid), nic.mac, nic.index, nic.target_dev
        )
        for verdict in ask(self._rules.of("mac"), subject):
            for problem in verdict.problems:
                tray.findings.append(
                    finding_of(
                        verdict.rule,
                        problem,
                        ref,
                        nic.location,
                        nic.owner,
                        digest(verdict.rule.id, *nic.whose),
                        problem.fix_for(nic.owner),
                    )
                )
            tray.note(verdict, ref)
        found = tray.audited(nic.target, nic.domain, nic.owner, "mac")
        return msgspec.structs.replace(found, uuid=ref.uuid)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgpack_decoder(NicSeen)


def _seen(domain: Domain, nic: Nic, mac: str, target: str) -> NicSeen:
    place = domain.location
    return NicSeen(
        mac=mac,
        domain=domain.name,
        uuid=None if domain.uuid is None else bare_uuid(domain.uuid),
        reading=digest(target, place.file or "", f"{place.xpath}/{domain.mark}/{domain.name}"),
        target=target,
        location=nic.location,
        index=nic.index,
        kind=nic.declared.type,
        owner=domain.declared.owner,
        target_dev=nic.target_dev,
        network=f"{nic.declared.type}:{nic.source}" if nic.source else "",
        host=_host(domain, target),
        active=_active(domain, nic),
        teaming=nic.declared.teaming is not None,
        alone=domain.declared.form in _ALONE,
        whose=whose(domain, nic),
        suppressions=domain.suppressions,
    )


def _normal(mac: str) -> str | None:
    """As libvirt writes it; None for what is no address of one station."""
    parts = mac.split(":")
    try:
        numbers = [int(part, 16) for part in parts if 0 < len(part) <= 2]
    except ValueError:
        return None
    if len(numbers) != 6 or len(parts) != 6 or is_multicast(mac) or not any(numbers):
        return None
    return ":".join(f"{number:02x}" for number in numbers)


def _host(domain: Domain, target: str) -> str:
    file = domain.location.file
    if file is None:
        return target
    return os.path.dirname(file) if domain.declared.form == "dump" else ""


def _active(domain: Domain, nic: Nic) -> bool | None:
    if domain.state is not None:
        return domain.state.active
    if nic.running is not None and nic.running.evidence == DESCRIPTORS:
        return True
    return True if domain.declared.form == "live" else None


def _same_guest(one: NicSeen, other: NicSeen) -> bool:
    """By its UUID; by its name where one has none. A guest without either may be any."""
    if one.uuid is not None and other.uuid is not None:
        return one.uuid == other.uuid
    nameless = "(no name)" in (one.domain, other.domain)
    return nameless or one.domain == other.domain


def _again(one: NicSeen, other: NicSeen) -> bool:
    """Whether it is a NIC that was read before, by another reading of its guest."""
    if one.reading == other.reading:
        return one.index == other.index
    return _same_guest(one, other)


def _meet(one: NicSeen, other: NicSeen) -> bool:
    """Whether it can matter that the two have one MAC."""
    if one.reading == other.reading:
        # a virtio NIC and the device it stands in for must have one MAC
        return not (one.teaming or other.teaming or _ASSIGNED in (one.kind, other.kind))
    if one.alone or other.alone:
        return False
    if one.kind in _PRIVATE or other.kind in _PRIVATE:
        return False
    return not one.owner == other.owner == "nova"


def _hyphened(uuid: str) -> str:
    parts = (uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])
    return "-".join(parts)
