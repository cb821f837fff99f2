"""A definition and the QEMU that runs it, combined into one domain whose NICs show what runs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vnicaudit.base.wording import bare_uuid
from vnicaudit.model.domain import Domain, LiveFacts
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.nic import Nic, RunningNic, RunningQemu
from vnicaudit.platforms.qemu.proc import anonymous


def find(domain: Domain, candidates: Iterable[RunningQemu]) -> RunningQemu | None:
    """The QEMU that runs the domain: by UUID; by name if either has no UUID. The last of several
    wins (a migration leaves two for a moment); None if there is none."""
    by_name = None
    by_uuid = None
    for qemu in candidates:
        if domain.uuid is not None and qemu.uuid is not None:
            if bare_uuid(domain.uuid) == bare_uuid(qemu.uuid):
                by_uuid = qemu
        elif qemu.name is not None and qemu.name == domain.name:
            by_name = qemu
    return by_uuid or by_name


def join(domain: Domain, running: RunningQemu) -> Domain:
    """The domain with ``running`` filled in for each NIC that is on the command line.

    NICs are matched by MAC, among equal MACs by id and then by order; the rest by id. A NIC that
    was plugged later is not on the command line and gets no ``running``. A NIC that is only on the
    command line is gone: the running definition lists every NIC, including those of
    ``<qemu:commandline>``, whereas the command line keeps those that were unplugged. So the command
    line may name a device that was replaced by another one with the same MAC while the guest ran;
    the former does not run.
    """
    nics = list(domain.nics)
    for index, other in _match(domain.nics, list(running.nics)).items():
        if not _exchanged(nics[index], other):
            nics[index] = msgspec.structs.replace(nics[index], running=anonymous(other))
    return msgspec.structs.replace(
        domain,
        nics=tuple(nics),
        live=msgspec.structs.replace(domain.live or LiveFacts(), joined=True),
        qemu_version=running.qemu_version or domain.qemu_version,
        libvirt_version=running.libvirt_version or domain.libvirt_version,
    )


def _match(nics: tuple[Nic, ...], left: list[RunningNic]) -> dict[int, RunningNic]:
    """Index of a NIC -> its running NIC; matches are removed from ``left``. The most certain match
    comes first: MAC and id, then MAC, then id."""
    pairs: dict[int, RunningNic] = {}
    for same in (_same_mac_and_id, _same_mac, _same_id):
        for index, nic in enumerate(nics):
            if index in pairs:
                continue
            found = next((place for place, other in enumerate(left) if same(nic, other)), None)
            if found is not None:
                pairs[index] = left.pop(found)
    return pairs


def _exchanged(nic: Nic, other: RunningNic) -> bool:
    """True if exactly one of the two NICs is virtio, and the definition names a model."""
    model = nic.declared.model
    return model is not None and (model in VIRTIO) != (other.model in VIRTIO)


def _same_mac_and_id(nic: Nic, other: RunningNic) -> bool:
    return _same_mac(nic, other) and nic.alias is not None and nic.alias == other.id


def _same_mac(nic: Nic, other: RunningNic) -> bool:
    return nic.mac is not None and nic.mac == other.mac


def _same_id(nic: Nic, other: RunningNic) -> bool:
    """True if both have the same id, and their MACs do not contradict it."""
    if nic.alias is None or nic.alias != other.id:
        return False
    return nic.mac is None or other.mac is None


def with_log(qemu: RunningQemu, log: RunningQemu | None) -> RunningQemu:
    """A process with the facts that only the log of its start has: the versions of QEMU and
    libvirt, and warnings about vhost-net. A log of another start (or of none) adds nothing."""
    if log is None or log.stopped or (log.uuid, log.name) != (qemu.uuid, qemu.name):
        return qemu
    warned = {nic.id: nic.log_warning for nic in log.nics}
    nics = tuple(msgspec.structs.replace(nic, log_warning=warned.get(nic.id)) for nic in qemu.nics)
    return msgspec.structs.replace(
        qemu,
        nics=nics,
        qemu_version=log.qemu_version,
        libvirt_version=log.libvirt_version,
    )
