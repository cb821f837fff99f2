"""NICs of one run that share a MAC address.

The memory for each NIC is bounded, and so is their number. A guest that was read twice (its file
and libvirt, a snapshot, a backup) counts as one: by its UUID, or by its name if one reading has no
UUID. On two live hosts it is two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.judgement import Auditor, FindingCollector, ask, digest, identity_parts
from vnicaudit.base.wording import bare_uuid
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import DESCRIPTORS, Ref
from vnicaudit.model.nic import Nic, is_multicast
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import ATTACHMENT, MacSubject, NicSeen

MAX_NICS = 500_000
"""Maximum number of NICs that are compared with each other: NICs with nothing in common take about
400 bytes each."""
_MAX_ALIKE = 64
"""Maximum number of NICs with one MAC that are kept."""

_PRIVATE = frozenset({"user", "null"})
"""Types whose network has only one guest."""
_ASSIGNED = "hostdev"
_BEHIND_POD = ("masquerade", "passt", "slirp")
"""Wirings of KubeVirt in which the pod's address is on the wire, and not the guest's."""
_OF_A_STATION = r"(?a)[0-9a-f][02468ace](?::[0-9a-f]{2}){5}"
_ZERO = "00:00:00:00:00:00"


def nics_seen(domain: Domain, target: str, machine: str = "") -> tuple[NicSeen, ...]:
    """The records by which a domain's NICs are compared with all others. ``machine``: the name that
    libvirt gives the live host it was read from."""
    if domain.guest is not None:  # KubeVirt generates those that a VM does not name
        if domain.unjudged or domain.is_template:
            return ()
        known = ((nic, nic.known_mac) for nic in domain.nics)
        found = [(nic, mac) for nic, has in known if has and (mac := station_mac(has))]
    else:
        found = [(nic, mac) for nic in domain.nics if nic.mac and (mac := station_mac(nic.mac))]
    if not found:
        return ()
    of_domain = _of_domain(domain, target)
    return tuple([_nic_seen(domain, nic, mac, of_domain, machine) for nic, mac in found])


EncodedNic = tuple[str, bytes]
"""The MAC address of a NIC, and its record in the form that the table stores and worker processes
return: few NICs share an address, and only those are decoded."""


def encoded(nics: Iterable[NicSeen]) -> list[EncodedNic]:
    """The records, each with its MAC."""
    return [(nic.mac, _ENCODER.encode(nic)) for nic in nics]


class MacTable:
    """Every NIC so far, by MAC."""

    def __init__(self) -> None:
        self._first: dict[str, bytes] = {}
        self._alike: dict[str, list[NicSeen]] = {}
        self._kept = 0
        self.left_out = 0
        """Number of NICs that were not compared, for lack of room."""

    def take(self, nics: Iterable[EncodedNic]) -> None:
        """Store NICs that :func:`encoded` returned."""
        for mac, record in nics:
            known = self._first.get(mac)
            if known is not None:
                self._add(_decoded(record), known)
            elif self._has_room():
                self._first[mac] = record

    def subjects(self) -> Iterator[MacSubject]:
        """Each NIC that shares its MAC with others, in the order in which they were read."""
        for alike in self._alike.values():
            for nic in alike:
                others = tuple(other for other in alike if other is not nic and _meet(nic, other))
                if others:
                    yield MacSubject(nic, others)

    def notes(self) -> list[str]:
        """The note that the table had no room for some NICs."""
        if not self.left_out:
            return []
        number = f"{self.left_out:,} NICs"
        return [f"{number} were not compared with the others by their MAC address: too many"]

    def _add(self, nic: NicSeen, known: bytes) -> None:
        alike = self._alike.get(nic.mac) or [_decoded(known)]
        if any(_is_same_nic(nic, other) for other in alike):
            return
        if len(alike) >= _MAX_ALIKE:
            self.left_out += 1
        elif self._has_room():
            self._alike[nic.mac] = [*alike, nic]

    def _has_room(self) -> bool:
        """True if the table has room for one more NIC, which is counted either as stored or as left
        out."""
        if self._kept >= MAX_NICS:
            self.left_out += 1
            return False
        self._kept += 1
        return True


class MacAuditor(Auditor):
    """Judges NICs that share a MAC address."""

    def nics_to_compare(self, domain: Domain, target: str, machine: str = "") -> list[EncodedNic]:
        """The records of a domain's NICs, if a selected rule compares them with all others."""
        if not self._rules("mac") or domain.declared.is_lone_nic:
            return []
        return encoded(nics_seen(domain, target, machine))

    def audit(self, subject: MacSubject) -> Audited:
        """Judge one NIC together with those that share its MAC."""
        nic = subject.nic
        ref = Ref(
            "nic", nic.domain, nic.uuid and _hyphened(nic.uuid), nic.mac, nic.index, nic.target_dev
        )
        place = ref, nic.location, nic.identity
        collector = FindingCollector(self._wordings, nic.owner)
        verdicts = ask(self._rules("mac").of(), subject)
        collector.take(verdicts, ref, lambda _field: place, is_whole=True)
        return replace(collector.audited(nic.target, nic.domain, "mac"), uuid=ref.id)


_ENCODER = msgspec.msgpack.Encoder()


def _decoded(record: bytes) -> NicSeen:
    """A stored NIC. The decoder is made when the first address is shared."""
    return msgpack_decoder(NicSeen).decode(record)


class _OfDomain(NamedTuple):
    """Facts of a domain that are stored with each of its NICs."""

    uuid: str | None
    reading: str
    target: str
    host: str
    is_manifest: bool
    alone: bool


def _of_domain(domain: Domain, target: str) -> _OfDomain:
    place = domain.location
    return _OfDomain(
        None if domain.uuid is None else bare_uuid(domain.uuid),
        digest(target, place.file or "", f"{place.xpath}/{domain.mark}/{domain.name}"),
        target,
        _host(domain, target),
        domain.declared.manifest is not None,
        # a description that is not a definition yet: Neutron keeps the MACs of a network's ports
        # distinct
        not domain.declared.is_definition,
    )


def _nic_seen(domain: Domain, nic: Nic, mac: str, of_domain: _OfDomain, machine: str) -> NicSeen:
    declared = nic.declared
    shared = _shared_network(domain, nic) if of_domain.is_manifest else ""
    attachment = f"{ATTACHMENT}{shared}" if shared else ""
    network = f"{declared.type}:{nic.source}" if nic.source and declared.type != _ASSIGNED else ""
    # positional, as this is done for each NIC and is twice as fast that way
    return NicSeen(
        mac,
        domain.name,
        of_domain.uuid,
        of_domain.reading,
        of_domain.target,
        nic.location,
        nic.index,
        declared.type,
        domain.declared.owner,
        nic.target_dev,
        attachment or network,
        of_domain.host,
        _active(domain, nic),
        declared.teaming is not None,
        of_domain.alone and not attachment,
        identity_parts(domain, nic),
        domain.has_name,
        machine,
    )


def station_mac(mac: str) -> str | None:
    """The MAC as libvirt writes it; None if it is not the address of a single station."""
    if re.fullmatch(_OF_A_STATION, mac) is not None and mac != _ZERO:
        return mac
    parts = mac.split(":")
    try:
        numbers = [int(part, 16) for part in parts if 0 < len(part) <= 2]
    except ValueError:
        return None
    if len(numbers) != 6 or len(parts) != 6 or is_multicast(mac) or not any(numbers):
        return None
    return ":".join(f"{number:02x}" for number in numbers)


def _shared_network(domain: Domain, nic: Nic) -> str:
    """The attachment on whose network a NIC of KubeVirt meets others, or in words those that are
    one network; empty: it meets none. Each pod has a network of its own, unless its namespace has a
    user-defined one."""
    if nic.source is None or nic.wiring in _BEHIND_POD:
        return ""
    guest, path = domain.guest, nic.source
    if path == "pod":
        on_udn = guest is not None and nic.wiring == "udn"
        path = (guest.cluster.primary_network(guest.namespace) if guest and on_udn else None) or ""
    return path if guest is None else guest.cluster.layer2.get(path, path)


def _host(domain: Domain, target: str) -> str:
    file = domain.location.file
    if file is None:
        return target
    return os.path.dirname(file) if domain.declared.described_by == "dump" else ""


def _active(domain: Domain, nic: Nic) -> bool | None:
    if domain.state is not None:
        return domain.state.active
    if nic.running is not None and nic.running.evidence == DESCRIPTORS:
        return True
    return True if domain.declared.described_by == "live" else None


def _same_guest(one: NicSeen, other: NicSeen) -> bool:
    """True if both have the same UUID; if one has none, the same name. A guest without either may
    be any."""
    if one.uuid is not None and other.uuid is not None:
        return one.uuid == other.uuid
    return not (one.has_name and other.has_name) or one.domain == other.domain


def _is_same_nic(one: NicSeen, other: NicSeen) -> bool:
    """True if both records are of one NIC, which was read twice. On two live hosts it is two."""
    if one.reading == other.reading:
        return one.index == other.index
    if one.machine and other.machine and one.machine != other.machine:
        return False
    return _same_guest(one, other)


def _meet(one: NicSeen, other: NicSeen) -> bool:
    """True if a MAC address that these two NICs share can cause trouble."""
    if one.reading == other.reading:
        # a virtio NIC and the device it stands in for must share one MAC
        return not (one.teaming or other.teaming or _ASSIGNED in (one.kind, other.kind))
    if one.alone or other.alone:
        return False
    if ATTACHMENT in (one.network[: len(ATTACHMENT)], other.network[: len(ATTACHMENT)]):
        # one without a namespace is in that of its manifest, which is unknown
        alike = one.network == other.network and _one_cluster(one, other)
        return alike and ("/" in one.network or one.location.file == other.location.file)
    if one.kind in _PRIVATE or other.kind in _PRIVATE:
        return False
    return not one.owner == other.owner == "nova"


def _one_cluster(one: NicSeen, other: NicSeen) -> bool:
    """False for NICs of two live clusters, each of which has networks of its own."""
    live = one.location.file is None and other.location.file is None
    return one.target == other.target or not live


def _hyphened(uuid: str) -> str:
    parts = (uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])
    return "-".join(parts)
