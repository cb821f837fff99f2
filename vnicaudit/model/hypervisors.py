"""Domain types, as far as they decide about NICs.

Source: libvirt 11.3 ``virDomainVirt`` and ``qemuInterfaceOpenVhostNet``.
"""

from __future__ import annotations

KVM_DOMAINS = frozenset({"kvm", "test"})
"""Domain types with vhost-net. ``test`` is libvirt's test driver: judged as KVM."""

QEMU_DOMAINS = KVM_DOMAINS | {"qemu", "hvf"}
"""Domain types whose NICs QEMU emulates."""
