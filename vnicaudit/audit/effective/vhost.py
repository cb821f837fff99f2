"""Whether a NIC's packets go through the kernel's vhost-net."""

from __future__ import annotations

from vnicaudit.audit.effective.given import NO_MODEL, Given, Outcome
from vnicaudit.model.backends import OWN_PATH, TAP_TYPES
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.hypervisors import KVM_DOMAINS
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.vhost import DEVICE, has_device, vhost_device


def resolve_vhost(given: Given, model: str | None) -> Outcome[bool]:
    """Whether vhost-net is used; refused where ``name='vhost'`` demands what the host has not.
    What QEMU shows decides, and a NIC seen to have vhost is not refused it."""
    nic, running = given.nic, given.running
    declared = None if nic.driver_name is None else nic.driver_name == "vhost"
    if nic.actual_type in OWN_PATH:
        word = "vhost-user" if nic.actual_type == "vhostuser" else "vhost-vDPA"
        reason = f"{word} is the packet path; vhost-net is not used"
        return Outcome(Resolved(declared, None, reason, NONE))
    inferred = _inferred(given, model, declared)
    if running is None or running.vhost is None:
        return inferred
    seen = Resolved(declared, running.vhost, f"seen in QEMU's {running.evidence}")
    return Outcome(seen, inferred.refused and not running.vhost)


def opens_vhost_net(given: Given, model: str | None) -> bool:
    """Whether libvirt opens ``/dev/vhost-net`` for this NIC, on a host that has it."""
    if model is None or given.nic.actual_type is None:
        return False
    return _impossible(given, model) is None and vhost_device(given.nic) == DEVICE


def _inferred(given: Given, model: str | None, declared: bool | None) -> Outcome[bool]:
    nic = given.nic
    if model is None:
        return Outcome(Resolved(declared, None, NO_MODEL, UNKNOWN))
    if (reason := _impossible(given, model)) is not None:
        return Outcome(Resolved(declared, False, reason))
    if nic.actual_type is None:
        reason = f"type='{nic.type}': the network's definition would tell what it is connected to"
        return Outcome(Resolved(declared, None, reason, UNKNOWN))
    return _by_device(given, declared)


def _by_device(given: Given, declared: bool | None) -> Outcome[bool]:
    device = vhost_device(given.nic)
    found = has_device(given.nic, given.host)
    if found is None:
        reason = (
            "the definition never proves it; QEMU's command line or its open descriptors would tell"
        )
        return Outcome(Resolved(declared, None, reason, UNKNOWN))
    if found:
        reason = f"the host has {device}; libvirt uses it for KVM"
        return Outcome(Resolved(declared, True, reason))
    if given.tuned and declared:
        reason = f"the host has no {device}, which name='vhost' demands: does not start"
        return Outcome(Resolved(declared, False, reason), refused=True)
    reason = f"the host has no {device}: QEMU copies every packet"
    return Outcome(Resolved(declared, False, reason))


def _impossible(given: Given, model: str) -> str | None:
    """Why libvirt does not open vhost-net for this NIC on any host; None when it may. The order
    is that of qemuInterfaceOpenVhostNet, as far as the network is known."""
    nic, domain = given.nic, given.domain
    if model not in VIRTIO:
        return f"{model} is emulated by QEMU; only virtio has vhost"
    if nic.model is not None and not given.tuned:
        return f"libvirt opens vhost-net for its own virtio models, not for {nic.model}"
    if nic.actual_type is not None and nic.actual_type not in TAP_TYPES:
        return f"type='{nic.actual_type}' never uses vhost-net"
    if domain.type not in KVM_DOMAINS:
        return (
            f"domain type='{domain.type}': libvirt opens vhost-net for KVM only, "
            "and says nothing when name='vhost' asks for it"
        )
    if nic.driver_name == "qemu" and given.tuned:
        return "switched off by <driver name='qemu'/>"
    return None
