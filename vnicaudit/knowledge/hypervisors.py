"""Domain types, as far as they affect NICs.

Source: libvirt 11.3 ``virDomainVirt`` and ``qemuInterfaceOpenVhostNet``.
"""

from __future__ import annotations

KVM_DOMAINS = frozenset({"kvm", "test"})
"""Domain types with vhost-net. ``test`` is libvirt's test driver, which is judged like KVM."""

KVM_OR_QEMU = "kvm or qemu"
"""A command line that leaves the accelerator to QEMU (``accel=kvm:tcg``, ``qemu-kvm``), so that it
does not show which one is used."""

QEMU_DOMAINS = KVM_DOMAINS | {"qemu", "hvf", KVM_OR_QEMU}
"""Domain types whose NICs QEMU emulates."""
