"""Advice on each topic for owners without words of their own: it speaks to libvirt's user."""

from __future__ import annotations

from vnicaudit.model.fix import Advice, Topic

TOPICS: dict[Topic, Advice] = {
    "connect-network": Advice((
        "Connect it to a libvirt network or a bridge; where only user-mode networking is "
        "possible, use <backend type='passt'/> (libvirt 9.0).",
    )),
    "one-model": Advice((
        "Give all NICs one model, virtio where the guest has its driver, and tie interface names "
        "to MAC addresses in the guest.",
    )),
    "own-address": Advice((
        "Remove <mac> from the one that is the copy, so that it gets a new address; then tell "
        "DHCP and the guest's own configuration.",
    )),
    "serve-vhostuser": Advice((
        "Use a dpdkvhostuserclient port in Open vSwitch and mode='server' on QEMU's side.",
    )),
    "share-memory": Advice((
        "Share the guest's memory: <memoryBacking> with <source type='memfd'/> (or huge pages) "
        "and <access mode='shared'/>.",
    )),
    "use-kvm": Advice((
        "Run it with KVM: <domain type='kvm'>. The guest sees another CPU: power it off and on, "
        "and check it.",
    )),
}  # fmt: skip
