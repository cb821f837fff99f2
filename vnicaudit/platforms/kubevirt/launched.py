"""The domain of a running VM by its launcher: libvirt's definition, and the arguments of QEMU. Both
are read as anywhere else; only the settings of NICs are kept.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.cluster import ClusterGuest, LaunchedDomain
from vnicaudit.model.domain import ClusterDomain, Domain
from vnicaudit.model.finding import VIRTIO, Location
from vnicaudit.model.nic import Nic, NicConfig, RunningNic, RunningQemu
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.qemu.proc import is_qemu, join, running_in

_MOST_NICS = 512
"""Of one VM; more than PCI has room for. Each is compared with all of QEMU's."""
_ALIAS = "ua-"
"""Before the interface's name: ``NewUserDefinedAlias`` in KubeVirt's pkg/virt-launcher/virtwrap/
api/schema.go."""


def launched_of(definition: bytes, command: bytes, guest: ClusterGuest) -> LaunchedDomain:
    """The domain of a guest. ``definition``: what ``virsh dumpxml`` printed; ``command``: the
    command line of its QEMU, with NULs; empty: unknown."""
    try:
        found = list(read_bytes(definition, target="launcher", file=None))
    except TargetError:
        found = []
    if len(found) != 1:
        return LaunchedDomain(unread="what virsh dumpxml printed is not one domain")
    domain = found[0]
    if len(domain.nics) > _MOST_NICS:
        return LaunchedDomain(unread=f"its domain has more than {_MOST_NICS} NICs")
    qemu = _qemu(command)
    if isinstance(qemu, RunningQemu):
        domain = join(domain, qemu)
    names = [each.name for each in guest.nics]
    by_mac = {each.status.mac: each.name for each in guest.nics if each.status and each.status.mac}
    return LaunchedDomain(
        without_qemu=qemu if isinstance(qemu, str) else "",
        kvm=domain.declared.type == "kvm",
        nics=tuple(replace(nic, alias=_name(nic, names, by_mac)) for nic in domain.nics),
    )


def _qemu(command: bytes) -> RunningQemu | str:
    """The QEMU, or why it is not known."""
    words = command.decode("utf-8", "replace").split("\0")
    if not is_qemu(words[0]):
        return "the command line of its process was not found in the launcher"
    found = running_in(words, words[0], Location("launcher"), 0, None)
    if isinstance(found, RunningQemu) and len(found.nics) <= _MOST_NICS:
        return found
    return "its command line was not understood"


def _name(nic: Nic, names: list[str], by_mac: dict[str, str]) -> str:
    """The interface that a NIC is: by its alias, else by its MAC address."""
    alias = (nic.alias or "").removeprefix(_ALIAS)
    return alias if alias in names else by_mac.get(nic.mac or "", "")


def with_launched(domain: ClusterDomain, launched: LaunchedDomain) -> Domain:
    """A running VM as its launcher has it, where that was read."""
    by_name = {each.alias: each for each in launched.nics if each.alias and each.declared.model}
    return replace(
        domain,
        guest=replace(domain.guest, launched=launched),
        nics=tuple(_as_launched(nic, by_name.get(nic.alias or "")) for nic in domain.nics),
    )


def _as_launched(nic: Nic, has: Nic | None) -> Nic:
    known = nic.running
    if has is None or known is None or not known.model:
        return nic
    if has.running is not None:
        return replace(nic, running=replace(has.running, mac=known.mac))
    return replace(nic, running=_defined(known, has.declared))


def _defined(known: RunningNic, has: NicConfig) -> RunningNic:
    """A NIC that was plugged in: QEMU was not started with it."""
    modern = has.model in VIRTIO and has.model != "virtio-transitional"
    model = "virtio" if modern else has.model or ""
    return replace(known, model=model, queues=has.queues or 1)
