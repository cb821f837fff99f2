"""Backends to which NICs are connected, by actual type, and the features that each of them
supports.

Sources: libvirt 11.3 ``qemuBuildInterfaceConnect`` and ``qemuDomainValidateActualNetDef``; for the
number of queues also Linux ``drivers/net/tun.c`` and QEMU's ``VIRTIO_QUEUE_MAX``.
"""

from __future__ import annotations

from vnicaudit.knowledge.machines import KVM_DOMAINS, KVM_OR_QEMU
from vnicaudit.knowledge.rings import DEFAULT_RING, MAX_RING
from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.subject import Subject
from vnicaudit.model.version import Version

# NICs for which libvirt opens vhost-net: virtio on a tap or macvtap of a KVM domain.
#
# Source: libvirt 11.3 ``qemuInterfaceOpenVhostNet`` and ``qemuBuildInterfaceConnect``.

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


TAP_TYPES = frozenset({"bridge", "ethernet", "direct"})
"""Actual types on a tap or macvtap device: the only ones with vhost-net."""

OWN_PATH = frozenset({"vhostuser", "vdpa"})
"""Actual types whose packets pass through another process or a device instead of QEMU or
vhost-net."""

NOVA_TAPS = frozenset({"bridge", "ethernet"})
"""Types on a tap that Nova writes with the model it keeps for the server (Nova 34.0.0,
``virt/libvirt/vif.py`` ``get_base_config``); on macvtap it always writes virtio."""

KEPT_MODEL = NOVA_TAPS | {"vhostuser"}
"""All types that Nova writes with the model it keeps; for vDPA and assigned devices it writes
none."""

SINGLE_QUEUE = frozenset({"user", "server", "client", "mcast", "udp", "internal"})
"""Actual types for which libvirt refuses to start with more than one queue pair."""

MAX_TAP_QUEUES = 256
"""``MAX_TAP_QUEUES`` of Linux; libvirt opens one descriptor per queue pair."""

STRICT_TX_QEMU = Version(8, 1)
"""From this QEMU on a TX ring above the backend's maximum is an error at start; older ones reduced
it silently. Measured: 7.2.22 reduces it, 10.0.13 refuses; changed by "virtio-net: correctly report
maximum tx_queue_size value" (June 2023)."""

_OVS_FOLDERS = ("/run/openvswitch/", "/var/run/openvswitch/", "/usr/local/var/run/openvswitch/")
"""Folders where Open vSwitch keeps its sockets (its ``--prefix`` /usr or /usr/local), and the
default of Neutron's ``vhostuser_socket_dir``."""

_MAX_VHOSTUSER_QUEUES = 511
"""A pair takes two of QEMU's at most 1024 virtqueues, and the control queue takes one."""


def queue_limit(actual_type: str | None) -> int | None:
    """The maximum number of queue pairs with which a NIC starts; None if the backend has no known
    limit.

    A type of None is an unknown network: it becomes a tap or a macvtap (or a host device, which has
    no ``queues=``), never vhost-user or vDPA (``virDomainActualNetDefParseXML``).
    """
    if actual_type is None or actual_type in TAP_TYPES:
        return MAX_TAP_QUEUES
    return _MAX_VHOSTUSER_QUEUES if actual_type == "vhostuser" else None


def tx_limit(actual_type: str | None) -> int:
    """The largest TX ring of a backend. None is an unknown network: it becomes a tap or a macvtap,
    never vhost-user or vDPA (``virDomainActualNetDefParseXML``)."""
    return MAX_RING if actual_type in OWN_PATH else DEFAULT_RING


def is_ovs_socket(path: str) -> bool:
    """True if a vhost-user socket belongs to Open vSwitch, by its folder or by its name from
    Neutron: ``vhu`` and 11 characters of the port's UUID."""
    name = path.rpartition("/")[2]
    return (len(name) == 14 and name.startswith("vhu")) or path.startswith(_OVS_FOLDERS)
