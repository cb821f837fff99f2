"""Move a server's port to vDPA: each prerequisite, as far as the cloud shows it, and the procedure,
which an operator carries out port by port.

Sources: Nova 34.0.0, ``doc/source/admin/vdpa.rst`` (ports since 23.0; moves, attach, detach,
suspend and resume since 26.0), ``compute/api.py`` (``reject_vdpa_instances``: these are refused for
a server with such a port until every nova-compute is of 26.0), ``objects/service.py`` (the oldest
nova-compute that an API works with), ``network/neutron.py`` ``deallocate_port_for_instance`` (Nova
deletes the ports it created), ``network/os_vif_util.py`` (the bridge of the hybrid firewall is
bypassed), ``virt/libvirt/vif.py`` ``get_base_config`` (no model, no queues; no bandwidth limit of a
flavor), ``virt/libvirt/config.py`` (no MTU), ``virt/libvirt/driver.py`` (live migration),
``conf/scheduler.py`` (``enabled_filters``); Neutron 29.0.0, ``mech_openvswitch.py``,
``mech_ovs_conf.py`` and ``common/ovn/constants.py`` (drivers that accept vnic_type vdpa),
``conf/policies/port.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.shell import word
from vnicaudit.model.domain import Server
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.server import NovaVersions, PortBinding, ServerConfig
from vnicaudit.remedy.planning.cloud.gates import nova_range
from vnicaudit.remedy.planning.cloud.vdpa_devices import Prerequisite
from vnicaudit.remedy.planning.cloud.vdpa_node import binding_of, node_prerequisites
from vnicaudit.text.cloud_names import client

_PORTS = 23
"""The first Nova that creates servers with vDPA ports."""
_PLUGGED = 26
"""The first Nova that attaches a vDPA port to an existing server."""
_ALL_PLUG = 28
"""The first Nova whose API accepts no nova-compute older than that: 2023.2, which accepts
nova-compute down to the SLURP release 2023.1 (27.0)."""
_BANDWIDTH = "quota:vif_"


def prerequisites(server: Server, nic: Nic) -> Iterator[Prerequisite]:
    """All prerequisites, in the order in which to check them."""
    binding = binding_of(server, nic)
    yield _port(binding, word(nic.source or "PORT"), client(server.cloud.target))
    yield _switch(binding)
    yield _nova(server.config.nova)
    yield from node_prerequisites(server, nic)
    yield _guest(server, nic)


def _port(binding: PortBinding, port: str, openstack: str) -> Prerequisite:
    if binding.vnic_type == "normal":
        return Prerequisite("ok", "the port is an ordinary one (vnic_type normal)")
    if not binding.vnic_type:
        tell = f"the type of the port: {openstack} port show -c binding_vnic_type {port}"
        return Prerequisite("unknown", tell)
    return Prerequisite(
        "missing",
        f"the port has vnic_type {binding.vnic_type}: this procedure is for ordinary ones",
    )


def _switch(binding: PortBinding) -> Prerequisite:
    if not binding.vif_type:
        return Prerequisite(
            "unknown",
            "what the port is connected to: only an administrator can see it (binding_vif_type)",
        )
    if against := _other_switch(binding):
        return Prerequisite("missing", against)
    if binding.vif_type == "unbound":
        tell = "what the port is connected to: it is unbound; plan again when the server has a host"
        return Prerequisite("unknown", tell)
    return Prerequisite(
        "ok",
        "Open vSwitch or OVN binds the port, and both take vnic_type vdpa (Open vSwitch where "
        "Neutron's vnic_type_prohibit_list does not name it)",
    )


def _other_switch(binding: PortBinding) -> str:
    """Why the port's switch has no vDPA; empty if it may have."""
    if binding.vif_type == "binding_failed":
        return "a bound port: Neutron could not bind it; correct that first"
    if binding.datapath == "netdev" or binding.vif_type == "vhostuser":
        return (
            "Open vSwitch uses its userspace datapath there (netdev): Nova has vDPA only with "
            "the kernel datapath, offloaded to a card"
        )
    if binding.vif_type not in ("ovs", "unbound"):
        return (
            f"the port is bound as {binding.vif_type}: Neutron has vDPA only with Open vSwitch "
            "and OVN"
        )
    if binding.hybrid:
        return (
            "security groups are applied on a Linux bridge (firewall_driver iptables_hybrid), "
            "which a vDPA port bypasses: use firewall_driver openvswitch"
        )
    return ""


def _nova(nova: NovaVersions | None) -> Prerequisite:
    oldest, newest = nova_range(nova)
    if newest is not None and newest < _PORTS:
        return Prerequisite("missing", f"Nova 23.0 (Wallaby): this is {newest} or older")
    if newest is not None and newest < _PLUGGED:
        return Prerequisite(
            "missing",
            f"Nova 26.0 (Zed), which attaches such a port: this is {newest} or older, which makes "
            "new servers with one",
        )
    if oldest is not None and oldest >= _ALL_PLUG:
        return Prerequisite("ok", f"Nova is {oldest} or later (26.0 attaches such a port)")
    if oldest is not None and oldest >= _PLUGGED:
        return Prerequisite(
            "unknown",
            "whether every nova-compute is 26.0 or later, as the API is: while one is older, a "
            "server with such a port is refused suspend, live migration, attach and detach: "
            "nova-compute --version on the nodes",
        )
    return Prerequisite(
        "unknown", "whether Nova is 26.0 or later: nova-manage --version on a controller"
    )


def _guest(server: Server, nic: Nic) -> Prerequisite:
    readiness = server.declared.readiness
    if nic.declared.model in VIRTIO or readiness == "ready":
        return Prerequisite("ok", "the guest supports virtio")
    if readiness in ("needs-driver", "not-supported"):
        return Prerequisite("missing", f"a virtio driver in the guest (readiness: {readiness})")
    return Prerequisite("unknown", "whether the guest has a virtio driver (os_distro of its image)")


def vdpa_losses(server: Server) -> Iterator[str]:
    """Functions that a vDPA port lacks, one sentence each."""
    config = server.config
    yield (
        "Nova writes neither queues nor ring sizes for a vDPA port: it has one queue pair and "
        "QEMU's rings of 256."
    )
    yield "libvirt does not set its MTU: the guest gets it by DHCP, and the device has its own."
    yield from _model(config)
    yield (
        "A live migration unplugs such a NIC and plugs in another one (Nova 26.0): meanwhile the "
        "guest is without it."
    )
    yield (
        "Moving the server needs another node with such a device, which the scheduler finds only "
        "with PciPassthroughFilter: [filter_scheduler] enabled_filters does not have it by "
        "default."
    )
    flavor = config.flavor
    if flavor is not None and any(one.name.startswith(_BANDWIDTH) for one in flavor.properties):
        yield f"The bandwidth limits of its flavor ({_BANDWIDTH}…) do not apply to a vDPA port."


def _model(config: ServerConfig) -> Iterator[str]:
    if config.vif_model is not None and config.vif_model not in VIRTIO:
        yield (
            f"hw_vif_model = {config.vif_model}, which Nova keeps, does not apply to it: libvirt "
            "makes it virtio."
        )


def vdpa_procedure(server: Server, nic: Nic) -> Iterator[str]:
    """Create another port with the address of this one and exchange the two; one port at a time."""
    ref = server.cloud
    id, port = word(ref.id), word(nic.source or "PORT")
    openstack = client(ref.target)
    new = word(f"{ref.name.lstrip('-')}-vdpa-{nic.index}")  # not read as an option
    mac = f" --mac-address {word(nic.mac)}" if nic.mac else ""
    kept = ("network_id", "fixed_ips", "security_group_ids", "qos_policy_id", "tags")
    columns = " ".join(f"-c {name}" for name in kept)
    yield f"Keep the output of: {openstack} port show {columns} {port}"
    yield f"{openstack} server stop {id}"
    yield f"{openstack} server remove port {id} {port}"
    yield f"{openstack} port delete {port}"
    yield (
        f"{openstack} port create --vnic-type vdpa --network NETWORK --fixed-ip "
        f"subnet=SUBNET,ip-address=ADDRESS --security-group GROUP{mac} {new}"
    )
    yield f"{openstack} server add port {id} {new}"
    yield f"{openstack} server start {id}"
    guest = word(ref.instance_name or ref.id)
    yield (
        f"On {ref.host or 'its compute node'}, virsh dumpxml {guest} then has <interface "
        "type='vdpa'>. To go back, do the same with --vnic-type normal."
    )
    yield ("If Nova created the old port, remove port deletes it: port delete then finds none.")
    yield (
        "Bind the floating IP, and whatever else was bound to the old port, to the new one by "
        "hand. Continue with the next port when this one works."
    )
