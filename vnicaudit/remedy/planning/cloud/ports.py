"""NICs of servers to be moved to another backend: steps that an operator carries out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import word
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import NovaVersions, PortBinding, ServerConfig
from vnicaudit.model.plan import Blocked, Reason, ServerUnit, UnitStep
from vnicaudit.remedy.planning.backends import REQUESTED
from vnicaudit.remedy.planning.cloud import properties
from vnicaudit.remedy.planning.cloud.properties import nova_range, server_unit, unit_step
from vnicaudit.remedy.planning.run import PlanRequest
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges
from vnicaudit.text.targets import client


class Prerequisite(NamedTuple):
    """One prerequisite. If it is ``unknown``, its ``text`` says what would show it."""

    verdict: Literal["ok", "missing", "unknown"]
    text: str


# Prerequisites on the compute node for a server's port on vDPA, which only the node shows.
#
# Sources: Nova 34.0.0, ``doc/source/admin/vdpa.rst`` (KVM; QEMU alone is untested; kernel 5.7,
# libvirt 6.9, QEMU 5.1; the parent is a virtual function listed in ``[pci] device_spec``; Nova
# creates no vDPA devices; hardware-offloaded Open vSwitch); the memory that libvirt lets QEMU lock:
# :func:`vnicaudit.model.host.needed_memlock_kib`.


_ON_NODE = (
    "whether Open vSwitch of {host} leaves the packets to the card: ovs-vsctl get Open_vSwitch . "
    "other_config:hw-offload",
    "whether {host} has Linux 5.7, QEMU 5.1 and libvirt 7.2, with several vDPA NICs in one server "
    "8.7: uname -r and virsh version there",
    "whether {host} runs servers with KVM (Nova has not tested it without): virt_type in its "
    "nova.conf",
    "whether a vDPA device for {network} is free on {host}, made on a virtual function of a card "
    "(Nova makes none) that [pci] device_spec of its nova.conf lists: vdpa dev show there",
    "whether {host} has memory for it: all of the server's memory is locked while it runs, plus up "
    "to 1 GiB; overcommitted memory is not enough. Huge pages are not needed: free -m there",
)


def binding_of(server: Server, nic: Nic) -> PortBinding:
    """The binding of a NIC's port, as far as Neutron shows it."""
    bindings = server.config.bindings
    return bindings[nic.index] if nic.index < len(bindings) else PortBinding()


def is_vdpa(server: Server, nic: Nic) -> bool:
    """True if a NIC is on vDPA already."""
    return nic.declared.type == "vdpa" or binding_of(server, nic).vnic_type == "vdpa"


def node_prerequisites(server: Server, nic: Nic) -> Iterator[Prerequisite]:
    """All prerequisites on the node, in the order in which to check them."""
    network = binding_of(server, nic).network
    openstack = client(server.cloud.target)
    on = f"the port's physical network ({openstack} network show -c provider:physical_network)"
    if network is not None:
        on = network.physical or "networks without a physical one"
        if network.segmented and not network.physical:
            yield Prerequisite(
                "missing",
                "a physical network: no segment of the port's network has one, and Nova refuses a "
                "port on such a network",
            )
    host = server.cloud.host or "its compute node"
    for text in _ON_NODE:
        yield Prerequisite("unknown", text.format(host=host, network=on))


# Move a server's port to vDPA: each prerequisite, as far as the cloud shows it, and the procedure,
# which an operator carries out port by port.
#
# Sources: Nova 34.0.0, ``doc/source/admin/vdpa.rst`` (ports since 23.0; moves, attach, detach,
# suspend and resume since 26.0), ``compute/api.py`` (``reject_vdpa_instances``: these are refused
# for a server with such a port until every nova-compute is of 26.0), ``objects/service.py`` (the
# oldest nova-compute that an API works with), ``network/neutron.py``
# ``deallocate_port_for_instance`` (Nova deletes the ports it created), ``network/os_vif_util.py``
# (the bridge of the hybrid firewall is bypassed), ``virt/libvirt/vif.py`` ``get_base_config`` (no
# model, no queues; no bandwidth limit of a flavor), ``virt/libvirt/config.py`` (no MTU),
# ``virt/libvirt/driver.py`` (live migration), ``conf/scheduler.py`` (``enabled_filters``); Neutron
# 29.0.0, ``mech_openvswitch.py``, ``mech_ovs_conf.py`` and ``common/ovn/constants.py`` (drivers
# that accept vnic_type vdpa), ``conf/policies/port.py``.


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


_BY_HAND = Blocked(
    "by-hand",
    "Neutron decides what a server's NIC is connected to: follow the procedure by hand",
)
_SO = "it is already on vDPA"


class PlannedPort(PlanSubject[ServerUnit]):
    """The NIC of a server that was named for another backend."""

    def __init__(self, request: PlanRequest, server: Server, nic: Nic, target: str) -> None:
        super().__init__(request, target, server.ref_of(nic), server.cloud.project)
        self._server = server
        self._nic = nic
        self._to = request.options.to

    def proposed(self) -> ProposedChanges:
        """The change for an operator to make: the procedure, its obstacles and notes. Empty if the
        NIC is on that backend already."""
        if self._to != "vdpa":
            wordings = self.request.work.platforms.wordings
            procedure = (wordings.backend_procedure("nova", "vhostuser"),)
            return ProposedChanges(blocked=(_BY_HAND,), procedure=procedure)
        if is_vdpa(self._server, self._nic):
            return ProposedChanges()
        now = binding_of(self._server, self._nic).vnic_type or None
        checks = tuple(prerequisites(self._server, self._nic))
        missing = (
            Blocked("prerequisite", _text_of(one)) for one in checks if one.verdict == "missing"
        )
        others = (_text_of(one) for one in checks if one.verdict != "missing")
        return ProposedChanges(
            (Change("vnic_type", now, "vdpa", safe=True, reason=REQUESTED),),
            blocked=(_BY_HAND, *missing),
            notes=(*others, *vdpa_losses(self._server)),
            procedure=tuple(vdpa_procedure(self._server, self._nic)),
        )

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """The NIC is on that backend already."""
        if not proposed.blocked:
            yield Reason("already", _SO), ""

    def step(self, proposed: ProposedChanges) -> UnitStep[ServerUnit]:
        """The step that an operator carries out by hand."""
        server = self._server
        macs = () if self._nic.mac is None else (self._nic.mac,)
        step = unit_step(
            self, proposed, replace(server_unit(server), macs=macs),
            readiness=server.declared.readiness, safe=True, reason=REQUESTED, modes=(),
            running=properties.is_on(server),
        )  # fmt: skip
        return replace(step, to=self._to)


def _text_of(one: Prerequisite) -> str:
    return f"{one.verdict}: {one.text}"
