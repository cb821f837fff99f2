"""A server, its ports, image and flavor -> :class:`~vnicaudit.model.domain.Domain`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import NovaVersions, ServerConfig, ServerRef
from vnicaudit.platforms.openstack.aggregates import Aggregates
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.flavors import Flavors, embedded
from vnicaudit.platforms.openstack.groups import Groups
from vnicaudit.platforms.openstack.guest import Guest, guest_of, packed_of, queues_of
from vnicaudit.platforms.openstack.images import Images
from vnicaudit.platforms.openstack.kept import image_state, kept_of
from vnicaudit.platforms.openstack.nics import BARE_METAL, AllNics, in_order, nics_of
from vnicaudit.platforms.openstack.nodes import Node, Nodes
from vnicaudit.platforms.openstack.ports import Port, Ports
from vnicaudit.platforms.openstack.projects import Projects
from vnicaudit.platforms.openstack.servers import RawServer

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME = 255
"""Characters of a name; Nova takes no more."""
_TAPS = 23
"""Nova since which os-vif makes the port of Open vSwitch, and the interface is an ``ethernet``;
before, a ``bridge`` with a ``virtualport``."""
_ELSEWHERE = frozenset({"dvs", "hyperv", "other"})
"""vif types of other hypervisors."""
_LIBVIRT = frozenset({"hw_machine_type", "hw_pointer_model", "hw_input_bus"})
"""Only Nova's libvirt driver adds these where an image has none."""
_KINDS = 4096
"""Domains set alike share what is said of them, up to this many kinds."""


class Around(msgspec.Struct):
    """What of the cloud bears on its servers."""

    target: str
    nova: NovaVersions
    images: Images
    flavors: Flavors
    ports: Ports
    nodes: Nodes
    groups: Groups
    aggregates: Aggregates
    projects: Projects
    mtus: Mapping[str, int]
    admin: bool = False
    kinds: dict[DomainConfig, DomainConfig] = {}
    """See :data:`_KINDS`."""


def domain_of(server: RawServer, around: Around) -> Domain | ReadError | None:
    """The server as a domain; its ports are taken. None for one that is deleted already."""
    if not _UUID.fullmatch(server.id):
        return ReadError(f"servers: {plain(server.id)!r} is no id of a server", around.target)
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
    return Domain(
        name=(server.name or server.id)[:_NAME],
        declared=_shared(_declared(guest, config, len(ports)), around),
        location=Location(around.target, xpath=f"servers/{server.id}"),
        nics=nics_of(server.id, ports, all_nics, around.mtus, around.target),
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
    around: Around,
) -> ServerConfig:
    kept, kept_by = kept_of(server, image)
    return ServerConfig(
        status=server.status,
        kept=kept,
        kept_by=kept_by,
        image=image,
        image_state=image_state(server, image, all_seen=around.admin and around.images.complete),
        flavor=flavor,
        nova=around.nova,
        bindings=tuple(port.bound.binding for port in ports),
    )


def _declared(guest: Guest, config: ServerConfig, nics: int) -> DomainConfig:
    """What Nova writes for all of it. KVM: whether ``virt_type`` is ``qemu`` no API tells, which
    calls both QEMU."""
    vcpus = None if config.flavor is None else config.flavor.vcpus
    distro = config.property("os_distro") or ""
    return DomainConfig(
        type="kvm",
        arch=guest.arch,
        machine=guest.machine,
        vcpus=vcpus,
        vcpus_max=vcpus,
        owner="nova",
        form="server",
        os_id=distro if distro.startswith("http") else None,
        readiness=guest.readiness,
        shared_memory=guest.shared_memory,
        encrypted=guest.encrypted,
        session=False,
        nics=nics,
        server=config,
    )


def _shared(declared: DomainConfig, around: Around) -> DomainConfig:
    """The same record for all that are set alike: it is hashed and compared often."""
    known = around.kinds.get(declared)
    if known is None:
        if len(around.kinds) >= _KINDS:
            around.kinds.clear()
        known = around.kinds[declared] = declared
    return known


def _reference(server: RawServer, around: Around) -> ServerRef:
    return ServerRef(
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


def _unjudged(server: RawServer, config: ServerConfig, node: Node | None) -> str:
    """What would be needed to judge it; empty where it runs on QEMU, or nothing speaks against
    that."""
    if server.name is None and server.status == "UNKNOWN":
        return "an answer of its cell, which is down"
    if node is not None:
        kind = plain(node.kind)
        return "" if kind == "qemu" else f"a server that QEMU runs (its hypervisor is {kind})"
    if any(binding.vnic_type in BARE_METAL for binding in config.bindings):
        return "a server that QEMU runs (this one is bare metal)"
    if any(binding.vif_type in _ELSEWHERE for binding in config.bindings):
        return "a server that QEMU runs (its ports are bound for another hypervisor)"
    by_libvirt = any(name in _LIBVIRT for name, _value in config.kept)
    if config.image is not None and config.image.qemu is False and not by_libvirt:
        return "its hypervisor, which an admin sees: its image is for another one than QEMU"
    return ""
