"""NICs for which libvirt opens vhost-net: virtio on a tap or macvtap of a KVM domain.

Source: libvirt 11.3 ``qemuInterfaceOpenVhostNet`` and ``qemuBuildInterfaceConnect``.
"""

from __future__ import annotations

from vnicaudit.knowledge.backends import TAP_TYPES
from vnicaudit.knowledge.hypervisors import KVM_DOMAINS, KVM_OR_QEMU
from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.subject import Subject

DEVICE = "/dev/vhost-net"
"""The device that libvirt opens unless ``<backend vhost=>`` names another."""


def vhost_device(nic: NicConfig) -> str:
    """The device that libvirt opens for this NIC; it reads ``<backend vhost=>`` only if the model
    is written as virtio (``virDomainNetDefParseXML``)."""
    return (nic.backend_vhost if nic.tuning_is_read else None) or DEVICE


def has_device(nic: NicConfig, host: HostConfig) -> bool | None:
    """True if the host has the vhost device of this NIC; None if it was not checked."""
    device = vhost_device(nic)
    return host.vhost_net if device == DEVICE else dict(host.vhost_paths).get(device)


def may_have_vhost(subject: Subject) -> bool:
    """True if vhost-net is possible for this NIC as far as is known: an unknown model or backend
    may support it."""
    if subject.domain.type not in (*KVM_DOMAINS, KVM_OR_QEMU):
        return False
    if subject.model not in VIRTIO and subject.effective.model.state != UNKNOWN:
        return False
    return subject.backend is None or subject.backend in TAP_TYPES
