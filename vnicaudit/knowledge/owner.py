"""Find the owner that regenerates a domain's definition. A change goes to the owner, never behind
its back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vnicaudit.model.owner import KnownOwner

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
}
"""SMBIOS ``<sysinfo><system><entry name='product'>`` as these projects write it."""


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
