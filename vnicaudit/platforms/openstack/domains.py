"""Make a :class:`~vnicaudit.model.domain.Server` from a server, its ports, image and flavor.
Pure."""

from __future__ import annotations

import msgspec

from vnicaudit.base.identifiers import UUID
from vnicaudit.model.domain import DomainConfig, Server
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.platform_name import OPENSTACK
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import CloudServer, NovaVersions, ServerConfig
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.guest import (
    BARE_METAL,
    AllNics,
    ServerGuest,
    guest_of,
    in_order,
    nics_of,
    packed_of,
    queues_of,
)
from vnicaudit.platforms.openstack.images import Images, image_state, stored_properties
from vnicaudit.platforms.openstack.lists import (
    Aggregates,
    HypervisorNode,
    HypervisorNodes,
    Projects,
    ServerGroups,
)
from vnicaudit.platforms.openstack.network import Networks, Port, Ports
from vnicaudit.platforms.openstack.servers import Flavors, RawServer, embedded

_NAME = 255
"""Maximum number of characters of a name in Nova."""
_TAPS = 23
"""Nova since which os-vif creates the port of Open vSwitch, so that the interface is an
``ethernet``; before, it was a ``bridge`` with a ``virtualport``."""
_ELSEWHERE = frozenset({"dvs", "hyperv", "other"})
"""vif types of other hypervisors."""
_LIBVIRT = frozenset({"hw_machine_type", "hw_pointer_model", "hw_input_bus"})
"""Properties that only Nova's libvirt driver adds if an image has none."""
_KINDS = 4096
"""Maximum number of records that are shared by domains with equal settings."""


class CloudSurroundings(msgspec.Struct):
    """Facts of the cloud that its servers depend on."""

    target: str
    nova: NovaVersions
    images: Images
    flavors: Flavors
    ports: Ports
    nodes: HypervisorNodes
    groups: ServerGroups
    aggregates: Aggregates
    projects: Projects
    networks: Networks
    admin: bool = False
    kinds: dict[DomainConfig, DomainConfig] = {}
    """See :data:`_KINDS`."""

    @property
    def errors(self) -> list[ReadError]:
        """Errors of the lists that could not be read completely. Projects are left out: no verdict
        depends on their names."""
        lists = (
            self.ports.errors, self.networks.errors, self.images.errors, self.flavors.errors,
            self.nodes.errors, self.groups.errors, self.aggregates.errors,
        )  # fmt: skip
        return [error for each in lists for error in each]


def server_of(server: RawServer, around: CloudSurroundings) -> Server | ReadError | None:
    """The server; its ports are removed from the list. None for one that is already deleted."""
    if not UUID.fullmatch(server.id):
        return ReadError(f"servers: {plain(server.id)!r} is not a server id", around.target)
    ports = around.ports.take(server.id)
    if server.status == "DELETED":
        return None
    ports = in_order(ports, server.macs, complete=around.ports.complete)
    image = around.images.by_id.get(server.image_id or "")
    node = around.nodes.node(server.host, server.node)
    flavor = embedded(server.flavor, around.flavors.of(server.flavor), around.target)
    config = _config(server, ports, image, flavor, around)
    arch = None if node is None else node.arch
    guest = guest_of(config, arch, launched=bool(server.launched))
    all_nics = AllNics(
        config.vif_model,
        queues_of(config, around.nova),
        packed_of(config, around.nova),
        taps=around.nova.oldest is None or around.nova.oldest >= _TAPS,
    )
    return Server(
        name=(server.name or server.id)[:_NAME],
        declared=_interned(_declared(guest, config, len(ports)), around),
        location=Location(around.target, xpath=f"servers/{server.id}"),
        nics=nics_of(
            server.id, ports, all_nics, around.networks.mtus, around.target, server.networks
        ),
        uuid=server.id.lower(),
        cloud=_reference(server, around),
        unjudged=_unjudged(server, config, node),
        qemu_version=None if node is None else node.qemu,
    )


def _config(
    server: RawServer,
    ports: list[Port],
    image: Image | None,
    flavor: Flavor | None,
    around: CloudSurroundings,
) -> ServerConfig:
    stored, source = stored_properties(server, image)
    return ServerConfig(
        status=server.status,
        stored_properties=stored,
        properties_source=source,
        image=image,
        image_state=image_state(server, image, all_seen=around.admin and around.images.complete),
        flavor=flavor,
        nova=around.nova,
        bindings=tuple(port.bound.binding for port in ports),
    )


def _declared(guest: ServerGuest, config: ServerConfig, nics: int) -> DomainConfig:
    """The domain settings that Nova writes for a server. The type is always ``kvm``: the API calls
    the hypervisor QEMU whatever ``virt_type`` is."""
    vcpus = None if config.flavor is None else config.flavor.vcpus
    distro = config.property("os_distro") or ""
    return DomainConfig(
        type="kvm",
        arch=guest.arch,
        machine=guest.machine,
        vcpus=vcpus,
        vcpus_max=vcpus,
        owner="nova",
        described_by=config,
        platform=OPENSTACK,
        os_id=distro if distro.startswith("http") else None,
        readiness=guest.readiness,
        shared_memory=guest.shared_memory,
        encrypted=guest.encrypted,
        session=False,
        nics=nics,
    )


def _interned(declared: DomainConfig, around: CloudSurroundings) -> DomainConfig:
    """Return one record for all domains with equal settings, because it is hashed and compared
    often."""
    known = around.kinds.get(declared)
    if known is None:
        if len(around.kinds) >= _KINDS:
            around.kinds.clear()
        known = around.kinds[declared] = declared
    return known


def _reference(server: RawServer, around: CloudSurroundings) -> CloudServer:
    return CloudServer(
        id=server.id.lower(),
        name=(server.name or server.id)[:_NAME],
        project=server.tenant_id or "",
        project_name=around.projects.name(server.tenant_id),
        target=around.target,
        image=server.image_id or "",
        host=server.host,
        instance_name=server.instance_name,
        zone=server.zone or "",
        created=server.created or "",
        vm_state=server.vm_state or "",
        task_state=server.task_state,
        power_state=server.power_state,
        locked=server.locked,
        locked_reason=plain(server.locked_reason or ""),
        volumes=len(server.volumes),
        groups=around.groups.of(server.id),
        aggregates=around.aggregates.of(server.host),
    )


def _unjudged(server: RawServer, config: ServerConfig, node: HypervisorNode | None) -> str:
    """The missing fact without which a server cannot be judged; empty if it runs on QEMU, or
    nothing suggests otherwise."""
    if server.name is None and server.status == "UNKNOWN":
        return "an answer from its cell, which is down"
    if node is not None:
        kind = plain(node.kind)
        return "" if kind == "qemu" else f"a server that QEMU runs (its hypervisor is {kind})"
    if any(binding.vnic_type in BARE_METAL for binding in config.bindings):
        return "a server that QEMU runs (this one is bare metal)"
    if any(binding.vif_type in _ELSEWHERE for binding in config.bindings):
        return "a server that QEMU runs (its ports are bound for another hypervisor)"
    by_libvirt = any(name in _LIBVIRT for name, _value in config.stored_properties)
    if config.image is not None and config.image.qemu is False and not by_libvirt:
        return (
            "its hypervisor, which only an admin can see: its image is for a hypervisor other "
            "than QEMU"
        )
    return ""
