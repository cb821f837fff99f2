"""Which NICs libvirt opens vhost-net for: virtio on a tap or macvtap of a KVM domain.

Source: libvirt 11.3 ``qemuInterfaceOpenVhostNet`` and ``qemuBuildInterfaceConnect``.
"""

from __future__ import annotations

from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.rule import Subject

TAP_TYPES = frozenset({"bridge", "ethernet", "direct"})
"""Actual types on a tap or macvtap device."""

KVM_TYPES = frozenset({"kvm", "test"})
"""Domain types with vhost. ``test`` is libvirt's test driver: judged as KVM."""

DEVICE = "/dev/vhost-net"
"""What libvirt opens where ``<backend vhost=>`` names nothing else."""


def may_have_vhost(subject: Subject) -> bool:
    """Whether vhost-net is possible for this NIC as far as can be told: a model or a backend that
    is not known may be the right one."""
    if subject.domain.type not in KVM_TYPES:
        return False
    if subject.model not in VIRTIO and subject.effective.model.state != UNKNOWN:
        return False
    return subject.backend is None or subject.backend in TAP_TYPES
