"""What it takes to have a server's port on vDPA: each prerequisite, as far as the cloud tells, and
the way, which an operator goes port by port.

Sources: Nova 34.0.0, ``doc/source/admin/vdpa.rst`` (23.0; kernel 5.7, libvirt 6.9, QEMU 5.1; the
parent is a virtual function listed in ``[pci] device_spec``; hardware-offloaded Open vSwitch),
``compute/api.py`` (attach and detach from 26.0), ``network/os_vif_util.py`` (the bridge of the
hybrid firewall is passed by), ``virt/libvirt/vif.py`` (no bandwidth limit of a flavor); Neutron
29.0.0, ``mech_openvswitch.py`` and ``common/ovn/constants.py`` (who takes vnic_type vdpa),
``conf/policies/port.py``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Literal, NamedTuple

from vnicaudit.model.domain import Domain
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.server import NovaVersions, PortBinding
from vnicaudit.model.version import Version
from vnicaudit.remedy.planning.cloud.gates import config_of, ref_of

_PORTS = 23
"""The first Nova that makes servers with vDPA ports."""
_PLUGGED = 26
"""The first Nova that attaches a vDPA port to a server that exists."""
_LIBVIRT, _QEMU = Version(6, 9), Version(5, 1)
_BANDWIDTH = "quota:vif_"


class Prerequisite(NamedTuple):
    """One thing that has to be so. ``text`` of one that is ``unknown`` says what would tell."""

    verdict: Literal["ok", "missing", "unknown"]
    text: str


def binding_of(server: Domain, nic: Nic) -> PortBinding:
    """How Neutron binds a NIC's port, as far as it says."""
    bindings = config_of(server).bindings
    return bindings[nic.index] if nic.index < len(bindings) else PortBinding()


def prerequisites(server: Domain, nic: Nic) -> Iterator[Prerequisite]:
    """Everything that has to be so, in the order in which to look."""
    host = ref_of(server).host or "its compute node"
    binding, port = binding_of(server, nic), shlex.quote(nic.source or "PORT")
    yield _port(binding, port)
    yield _switch(binding)
    yield Prerequisite(
        "unknown",
        f"whether Open vSwitch of {host} leaves the packets to the card: ovs-vsctl get "
        "Open_vSwitch . other_config:hw-offload",
    )
    yield _nova(config_of(server).nova)
    yield _version("libvirt", server.libvirt_version, _LIBVIRT, host)
    yield _version("QEMU", server.qemu_version, _QEMU, host)
    yield _devices(server, host)
    yield Prerequisite(
        "unknown",
        f"whether a vDPA device is free on {host}, of a card on this network: vdpa dev show there, "
        f"and openstack port show -c network_id {port}, then openstack network show -c "
        "provider:network_type -c provider:physical_network",
    )
    yield Prerequisite(
        "unknown",
        f"whether {host} has memory for it: all of the server's is locked while it runs, and 1 GiB "
        "more may be; what is overcommitted is not enough",
    )
    yield _guest(server, nic)


def _port(binding: PortBinding, port: str) -> Prerequisite:
    if binding.vnic_type == "normal":
        return Prerequisite("ok", "the port is an ordinary one (vnic_type normal)")
    if not binding.vnic_type:
        tell = f"of which kind the port is: openstack port show -c binding_vnic_type {port}"
        return Prerequisite("unknown", tell)
    return Prerequisite(
        "missing", f"the port is of vnic_type {binding.vnic_type}: this way is for ordinary ones"
    )


def _switch(binding: PortBinding) -> Prerequisite:
    if not binding.vif_type:
        return Prerequisite(
            "unknown", "what the port is connected to: an administrator is told (binding_vif_type)"
        )
    if binding.vif_type != "ovs":
        return Prerequisite(
            "missing",
            f"the port is bound as {binding.vif_type}: Neutron has vDPA with Open vSwitch and OVN",
        )
    if binding.datapath == "netdev":
        return Prerequisite(
            "missing",
            "Open vSwitch has its userspace datapath there (netdev): Nova has vDPA with the "
            "kernel's, offloaded to a card",
        )
    if binding.hybrid:
        return Prerequisite(
            "missing",
            "security groups are applied on a Linux bridge (firewall_driver iptables_hybrid), "
            "which a vDPA port goes around: use firewall_driver openvswitch",
        )
    return Prerequisite("ok", "Open vSwitch or OVN binds the port, and both take vnic_type vdpa")


def _nova(nova: NovaVersions | None) -> Prerequisite:
    oldest, newest = (None, None) if nova is None else (nova.oldest, nova.newest)
    if newest is not None and newest < _PORTS:
        return Prerequisite("missing", f"Nova 23.0 (Wallaby): this is {newest} or older")
    if newest is not None and newest < _PLUGGED:
        return Prerequisite(
            "missing",
            f"Nova 26.0 (Zed), which attaches such a port: this is {newest} or older, which makes "
            "new servers with one",
        )
    if oldest is not None and oldest >= _PLUGGED:
        return Prerequisite("ok", f"Nova is {oldest} or later (26.0 attaches such a port)")
    return Prerequisite(
        "unknown", "whether Nova is 26.0 or later: nova-manage --version on a controller"
    )


def _version(what: str, found: Version | None, least: Version, host: str) -> Prerequisite:
    if found is None:
        tell = f"whether {what} of {host} is {least} or later: virsh version there"
        return Prerequisite("unknown", tell)
    if found < least:
        return Prerequisite("missing", f"{what} {least}: {host} has {found}")
    return Prerequisite("ok", f"{what} is {found} ({least} or later)")


def _devices(server: Domain, host: str) -> Prerequisite:
    node = config_of(server).node
    listed = None if node is None else node.value("device_spec")
    if node is not None and listed:
        return Prerequisite(
            "ok", f"[pci] device_spec is set in {node.file}; it must name the card's functions"
        )
    return Prerequisite(
        "unknown",
        f"whether [pci] device_spec in nova.conf of {host} names the virtual function behind a "
        "vDPA device",
    )


def _guest(server: Domain, nic: Nic) -> Prerequisite:
    readiness = server.declared.readiness
    if nic.declared.model in VIRTIO or readiness == "ready":
        return Prerequisite("ok", "the guest drives virtio")
    if readiness in ("needs-driver", "not-supported"):
        return Prerequisite("missing", f"a virtio driver in the guest (readiness: {readiness})")
    return Prerequisite("unknown", "whether the guest has a virtio driver (os_distro of its image)")


def lost(server: Domain) -> Iterator[str]:
    """What such a port does not have."""
    yield "Nova writes neither queues nor ring sizes for a vDPA port: the device has what it has."
    yield (
        "A live migration unplugs such a NIC and plugs another one in (Nova 26.0): the guest is "
        "without it for that time."
    )
    flavor = config_of(server).flavor
    if flavor is not None and any(one.name.startswith(_BANDWIDTH) for one in flavor.properties):
        yield f"The bandwidth limits of its flavor ({_BANDWIDTH}…) do not hold for a vDPA port."


def vdpa_route(server: Domain, nic: Nic) -> Iterator[str]:
    """Make another port with the address of this one and put it in its place; one at a time."""
    ref = ref_of(server)
    id, port = shlex.quote(ref.id), shlex.quote(nic.source or "PORT")
    new = shlex.quote(f"{ref.name}-vdpa-{nic.index}")
    mac = f" --mac-address {shlex.quote(nic.mac)}" if nic.mac else ""
    kept = ("network_id", "fixed_ips", "security_group_ids", "qos_policy_id", "tags")
    columns = " ".join(f"-c {name}" for name in kept)
    yield f"Keep what this says: openstack port show {columns} {port}"
    yield f"openstack server stop {id}"
    yield f"openstack server remove port {id} {port}"
    yield f"openstack port delete {port}"
    yield (
        f"openstack port create --vnic-type vdpa --network NETWORK --fixed-ip "
        f"subnet=SUBNET,ip-address=ADDRESS --security-group GROUP{mac} {new}"
    )
    yield f"openstack server add port {id} {new}"
    yield f"openstack server start {id}"
    yield (
        f"On {ref.host or 'its compute node'} virsh dumpxml {ref.instance_name or id} has "
        "<interface type='vdpa'> then. The way back is the same with --vnic-type normal."
    )
    yield (
        "A floating IP, and whatever else was bound to the old port, is bound to the new one by "
        "hand. Go on with the next port when this one is well."
    )
