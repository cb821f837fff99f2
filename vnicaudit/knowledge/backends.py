"""Backends of NICs, sizes of their rings, and the owners of definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from vnicaudit.knowledge.systems import KVM_DOMAINS, KVM_OR_QEMU
from vnicaudit.model.finding import MAYBE, VIRTIO, KnownOwner
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import SET, UNKNOWN, NicConfig
from vnicaudit.model.rule import Subject

if TYPE_CHECKING:
    from vnicaudit.model.nic import Behind

# Sizes of virtio rings, in descriptors.
#
# Source: QEMU's ``virtio_net_max_tx_queue_size`` and ``virtio_net_device_realize``; measured with
# 7.2.22 and 10.0.13.


def queue_pairs(number: int) -> str:
    """``one queue pair``, ``4 queue pairs``."""
    return "one queue pair" if number == 1 else f"{number} queue pairs"


DEFAULT_RING = 256
"""QEMU's default, and the smallest size it accepts."""

MAX_RING = 1024

RING_SIZES = (256, 512, 1024)
"""The sizes that QEMU accepts: powers of two."""

_DIGITS = 10
"""Maximum number of digits that are read; no ring size has as many."""


def as_ring(text: str) -> int:
    """The number in a text; 0, which is not a ring size, if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else 0


def ring_behind(nic: NicConfig, field: str, *, declared: bool) -> Behind | None:
    """The setting behind libvirt's settings that determines the ring size of a virtio NIC; None if
    there is none. ``declared``: libvirt sets a size itself, which wins over a default."""
    set_on_it = _behind_named(nic.behind, field)
    if set_on_it is not None and set_on_it.text:
        return set_on_it
    if set_on_it is None and declared:
        return None
    return _behind_named(nic.defaults, field) or set_on_it


def _behind_named(found: tuple[Behind, ...], name: str) -> Behind | None:
    return next((one for one in found if one.name == name), None)


# Backends to which NICs are connected, by actual type, and the features that each of them supports.
#
# Sources: libvirt 11.3 ``qemuBuildInterfaceConnect`` and ``qemuDomainValidateActualNetDef``; for
# the number of queues also Linux ``drivers/net/tun.c`` and QEMU's ``VIRTIO_QUEUE_MAX``.


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


# Settings made behind libvirt's settings that keep QEMU from starting, except those of rings.
#
# ``-set`` finds only devices that are passed in QEMU's plain syntax. libvirt passes them as JSON to
# a QEMU from 6.2 on (libvirt's issue 287), and then QEMU exits with ``there is no device "net0"
# defined``: measured with libvirt 9.0 and QEMU 7.2.


_JSON_QEMU, _JSON_LIBVIRT = Version(6, 2), Version(9, 0)


def refused_behind(nic: NicConfig, host: HostConfig) -> str | None:
    """The reason why QEMU is known not to start; None if it starts, as far as is known."""
    if nic.behind_faults:
        return nic.behind_faults[0]
    return not_found(nic) if _as_json(host) else None


def may_be_refused(nic: NicConfig, host: HostConfig) -> str | None:
    """The reason why QEMU does not start with a current libvirt, if it is unknown which libvirt is
    used; None otherwise."""
    return not_found(nic) if _as_json(host) is None and refused_behind(nic, host) is None else None


def not_found(nic: NicConfig) -> str | None:
    """Message that ``-set`` finds no device because libvirt passes it as JSON; None if no ``-set``
    concerns this NIC."""
    names = [one.name for one in nic.behind if one.by == SET and one.text != MAYBE]
    if not names or nic.origin != "interface":
        return None
    return (
        f"-set of {names[0][:40]} finds no device, because libvirt passes devices as JSON "
        "(<qemu:override> would reach it)"
    )


def _as_json(host: HostConfig) -> bool | None:
    """True if libvirt passes devices as JSON; None if that is unknown."""
    qemu, libvirt = host.qemu_version, host.libvirt_version
    if qemu is not None and qemu < _JSON_QEMU:
        return False
    known = qemu is not None and libvirt is not None and libvirt >= _JSON_LIBVIRT
    return True if known else None


# Find the owner that regenerates a domain's definition. A change goes to the owner, never behind
# its back.


_NAMESPACES: tuple[tuple[str, KnownOwner], ...] = (
    ("http://openstack.org/xmlns/libvirt/nova/", "nova"),
    ("http://ovirt.org/vm/", "ovirt"),
    ("http://kubevirt.io", "kubevirt"),
    ("http://opennebula.org/xmlns/libvirt/", "opennebula"),
)
"""Namespace of a child of ``<metadata>`` -> owner. Nova's is 1.0 and, since 23.0, 1.1; oVirt's are
``vm/1.0`` and ``vm/tune/1.0``; KubeVirt writes ``<kubevirt xmlns=…>``, OpenNebula ``<one:vm>``
(src/vmm/LibVirtDriverKVM.cc)."""

_PRODUCTS: dict[str, KnownOwner] = {
    "OpenStack Nova": "nova",
    "OpenStack Compute": "nova",
    "oVirt Node": "ovirt",
    "RHEV Hypervisor": "ovirt",
    "RHV": "ovirt",
    "KubeVirt": "kubevirt",
    "CloudStack KVM Hypervisor": "cloudstack",
}
"""SMBIOS ``<sysinfo><system><entry name='product'>`` as these projects write it; CloudStack's is in
its LibvirtVMDef.java (01b679ee)."""


def owner_of(namespaces: tuple[str, ...], product: str | None) -> KnownOwner:
    """The owner by the namespaces of the metadata's children, then by the SMBIOS product name;
    ``libvirt`` when neither says anything."""
    for namespace in namespaces:
        for prefix, owner in _NAMESPACES:
            if namespace.startswith(prefix):
                return owner
    return _PRODUCTS.get(product or "", "libvirt")


_OPENNEBULA_NAME = re.compile(r"one-\d+")
_OPENNEBULA_FOLDER = "/var/lib/one/"


def is_opennebula(name: str | None, paths: Iterable[str]) -> bool:
    """True for a guest of OpenNebula by its name and the folder of its disks or sockets: before it
    wrote metadata, and on QEMU's command line, these are all that shows it."""
    if _OPENNEBULA_NAME.fullmatch((name or "").strip()) is None:
        return False
    return any(_OPENNEBULA_FOLDER in path for path in paths)
