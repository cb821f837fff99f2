"""Prerequisites on the compute node for a server's port on vDPA, as far as the cloud and the
nova.conf of that node show them.

Sources: Nova 34.0.0, ``doc/source/admin/vdpa.rst`` (KVM; QEMU alone is untested; kernel 5.7,
libvirt 6.9, QEMU 5.1; the parent is a virtual function listed in ``[pci] device_spec``; Nova
creates no vDPA devices; hardware-offloaded Open vSwitch); the memory that libvirt lets QEMU lock:
:func:`vnicaudit.model.host.needed_memlock_kib`.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import Server
from vnicaudit.model.nic import Nic
from vnicaudit.model.server import NodeFacts, PortBinding
from vnicaudit.model.version import Version
from vnicaudit.remedy.planning.cloud.vdpa_devices import Prerequisite, device_free, device_listed
from vnicaudit.text.cloud_names import client

_LIBVIRT, _QEMU = Version(6, 9), Version(5, 1)
_LOCKS, _LOCKS_EACH = Version(7, 2), Version(8, 7)
"""The first libvirt that counts vDPA devices in the memory that QEMU may lock, and the first that
counts each of them."""
_LONGEST = 40
"""Maximum number of characters shown of a name that a user entered."""


def binding_of(server: Server, nic: Nic) -> PortBinding:
    """The binding of a NIC's port, as far as Neutron shows it."""
    bindings = server.config.bindings
    return bindings[nic.index] if nic.index < len(bindings) else PortBinding()


def is_vdpa(server: Server, nic: Nic) -> bool:
    """True if a NIC is on vDPA already."""
    return nic.declared.type == "vdpa" or binding_of(server, nic).vnic_type == "vdpa"


def node_prerequisites(server: Server, nic: Nic) -> Iterator[Prerequisite]:
    """All prerequisites on the node, in the order in which to check them."""
    config, host = server.config, server.cloud.host or "its compute node"
    yield Prerequisite(
        "unknown",
        f"whether Open vSwitch of {host} leaves the packets to the card: ovs-vsctl get "
        "Open_vSwitch . other_config:hw-offload",
    )
    yield Prerequisite("unknown", f"whether Linux of {host} is 5.7 or later: uname -r there")
    yield _version("libvirt", server.libvirt_version, _LIBVIRT, host)
    yield _version("QEMU", server.qemu_version, _QEMU, host)
    yield _accelerator(config.node, host)
    network = binding_of(server, nic).network
    yield device_listed(config, network, host)
    yield device_free(network, nic.source, host, client(server.cloud.target))
    yield _memory(server, host)


def _version(what: str, found: Version | None, least: Version, host: str) -> Prerequisite:
    if found is None:
        tell = f"whether {what} of {host} is {least} or later: virsh version there"
        return Prerequisite("unknown", tell)
    if found < least:
        return Prerequisite("missing", f"{what} {least}: {host} has {found}")
    return Prerequisite("ok", f"{what} is {found} ({least} or later)")


def _accelerator(node: NodeFacts | None, host: str) -> Prerequisite:
    kind = None if node is None else node.value("virt_type")
    if node is None or kind is None:
        tell = f"whether {host} runs servers with KVM: virt_type in its nova.conf"
        return Prerequisite("unknown", tell)
    if kind == "kvm":
        return Prerequisite("ok", f"virt_type is kvm in {node.file}")
    if kind == "qemu":
        tell = f"whether it works without KVM, which Nova has not tested (qemu in {node.file})"
        return Prerequisite("unknown", f"{tell}: a server that is made to try it")
    return Prerequisite("missing", f"virt_type kvm: {node.file} has {kind[:_LONGEST]}")


def _memory(server: Server, host: str) -> Prerequisite:
    """The prerequisite on memory. Neither huge pages nor shared memory is needed; QEMU locks all of
    the guest's memory."""
    several = any(is_vdpa(server, nic) for nic in server.nics)
    least, found = _LOCKS_EACH if several else _LOCKS, server.libvirt_version
    if found is not None and found < least:
        what = "each of several vDPA devices" if several else "a vDPA device"
        text = f"libvirt {least}, which lets QEMU lock the memory for {what}: {host} has {found}"
        return Prerequisite("missing", text)
    return Prerequisite(
        "unknown",
        f"whether {host} has memory for it: all of the server's memory is locked while it runs, "
        "plus up to 1 GiB; overcommitted memory is not enough. Huge pages are not needed: free "
        "-m there",
    )
