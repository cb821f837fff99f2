"""Resolution of vhost-net, the kernel's packet path, for a NIC."""

from __future__ import annotations

from vnicaudit.audit.effective.emulated_nic import NO_MODEL, EmulatedNic, ResolvedFact
from vnicaudit.knowledge.backends import DEVICE, OWN_PATH, TAP_TYPES, has_device, vhost_device
from vnicaudit.knowledge.machines import KVM_DOMAINS
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.guest_words import VIRTIO


def resolve_vhost(emulated: EmulatedNic, model: str | None) -> ResolvedFact[bool]:
    """Use of vhost-net by a NIC; refused if ``name='vhost'`` requires it on a host without it.
    Evidence from a running QEMU decides: a NIC seen with vhost is never refused it."""
    nic, running = emulated.nic, emulated.running
    declared = None if nic.driver_name is None else nic.driver_name == "vhost"
    if nic.actual_type in OWN_PATH:
        word = "vhost-user" if nic.actual_type == "vhostuser" else "vhost-vDPA"
        reason = f"{word} is the packet path; vhost-net is not used"
        return ResolvedFact(Resolved(declared, None, reason, NONE))
    inferred = _inferred(emulated, model, declared)
    if running is None or running.vhost is None:
        return inferred
    seen = Resolved(declared, running.vhost, f"seen in QEMU's {running.evidence}")
    return ResolvedFact(seen, inferred.refused and not running.vhost)


def opens_vhost_net(emulated: EmulatedNic, model: str | None) -> bool:
    """True if libvirt opens ``/dev/vhost-net`` for this NIC on a host that has it."""
    if model is None or emulated.nic.actual_type is None:
        return False
    return _impossible(emulated, model) is None and vhost_device(emulated.nic) == DEVICE


def _inferred(
    emulated: EmulatedNic, model: str | None, declared: bool | None
) -> ResolvedFact[bool]:
    nic = emulated.nic
    if model is None:
        return ResolvedFact(Resolved(declared, None, NO_MODEL, UNKNOWN))
    if (reason := _impossible(emulated, model)) is not None:
        return ResolvedFact(Resolved(declared, False, reason))
    if nic.actual_type is None:
        reason = f"type='{nic.type}': the network's definition would show what it is connected to"
        return ResolvedFact(Resolved(declared, None, reason, UNKNOWN))
    return _by_device(emulated, declared)


def _by_device(emulated: EmulatedNic, declared: bool | None) -> ResolvedFact[bool]:
    device = vhost_device(emulated.nic)
    found = has_device(emulated.nic, emulated.host)
    if found is None:
        reason = (
            "the definition does not prove it; QEMU's command line or its open descriptors would"
        )
        return ResolvedFact(Resolved(declared, None, reason, UNKNOWN))
    if found:
        reason = f"the host has {device}; libvirt uses it for KVM"
        return ResolvedFact(Resolved(declared, True, reason))
    if emulated.tuned and declared:
        reason = f"the host has no {device}, which name='vhost' requires: does not start"
        return ResolvedFact(Resolved(declared, False, reason), refused=True)
    reason = f"the host has no {device}: QEMU copies every packet"
    return ResolvedFact(Resolved(declared, False, reason))


def _impossible(emulated: EmulatedNic, model: str) -> str | None:
    """Why libvirt does not open vhost-net for this NIC on any host; None if it may. The order is
    that of qemuInterfaceOpenVhostNet, as far as the network is known."""
    nic, domain = emulated.nic, emulated.domain
    if model not in VIRTIO:
        return f"{model} is emulated by QEMU; only virtio has vhost"
    if nic.model is not None and not emulated.tuned:
        return f"libvirt opens vhost-net for its own virtio models, not for {nic.model}"
    if nic.actual_type is not None and nic.actual_type not in TAP_TYPES:
        return f"type='{nic.actual_type}' never uses vhost-net"
    if domain.type not in KVM_DOMAINS:
        return (
            f"domain type='{domain.type}': libvirt opens vhost-net for KVM only, and silently "
            "ignores name='vhost'"
        )
    if nic.driver_name == "qemu" and emulated.tuned:
        return "switched off by <driver name='qemu'/>"
    return None
