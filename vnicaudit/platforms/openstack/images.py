"""Images and servers of a cloud as an audit reads them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import UUID, plain
from vnicaudit.knowledge.readiness import emulated_model
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import (
    CloudServer,
    Flavor,
    Image,
    ImageState,
    NovaVersions,
    PropertiesSource,
    Property,
    ServerConfig,
)
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.guest import (
    BARE_METAL,
    AllNics,
    declared_of,
    in_order,
    nics_of,
    packed_of,
    queues_of,
    readiness_by,
)
from vnicaudit.platforms.openstack.listing import Collection, Listing, Microversions, pages
from vnicaudit.platforms.openstack.lists import (
    Aggregates,
    HypervisorNode,
    HypervisorNodes,
    Projects,
    ServerGroups,
)
from vnicaudit.platforms.openstack.network import Networks, Port, Ports
from vnicaudit.platforms.openstack.servers import Flavors, RawImage, RawServer, embedded, text_of

# ``GET /v2/images``: the images of a cloud with all their properties, and which of those Nova has
# stored for a server.
#
# Glance returns the properties of an image beside its own attributes, as texts. Source of those:
# Glance 33.0.0, ``api/v2/images.py`` (``get_base_properties``, ``_format_image``).
#
# Nova copies the properties of the image when a server is created or rebuilt
# (``utils.get_system_metadata_from_image``), adds defaults if its driver is libvirt (since 25.0:
# ``_register_undefined_instance_details``), and never reads the image again. From 2.98 on it
# reports them. Before, they are known only if the image was not changed since the server was
# created: the copied properties are then still in the image, and a later rebuild copied the same.
# Properties that Nova added, or an admin set with ``nova-manage image_property set`` (25.0), are
# not visible that way.


_PAGE = 500
"""Glance returns 25 unless more are requested, and 1,000 at most (``api_limit_max``)."""

_ATTRIBUTES = frozenset({
    "id", "name", "status", "visibility", "protected", "os_hidden", "checksum", "os_hash_algo",
    "os_hash_value", "owner", "size", "virtual_size", "container_format", "disk_format",
    "created_at", "updated_at", "tags", "direct_url", "min_ram", "min_disk", "self", "file",
    "stores", "schema", "locations",
})  # fmt: skip
_NO_MORE = frozenset({"deleted", "pending_delete", "killed"})
"""States of images from which no server can be created any more."""
_ALL = (("visibility", "all"),)
"""Also lists images of others that are shared with the whole community, which Glance (since Ocata)
leaves out by default."""
_HIDDEN = (("os_hidden", "true"),)
"""Lists images that are only shown on request: superseded, but still used by servers."""

_PREFIXES = ("hw_", "img_", "os_", "trait:")
_LEGACY = frozenset({"architecture", "hypervisor_type", "vm_mode", "root_device_name"})
"""Names without such a prefix that Nova also knows (``objects/image_meta.py``)."""
_LONGEST = 255
"""Maximum length of a value that Nova keeps."""
_DOUBT = timedelta(seconds=60)
"""Clocks of two services may differ, and Nova reads the image before it creates the server."""


IMAGES = Listing("image", "/images", "images", json_decoder(dict[str, object]), _PAGE)


class Images(Collection[dict[str, object]]):
    """Images of a cloud by id; ``nova`` is the newest release that it may be. ``others``: images of
    the community."""

    def __init__(self, target: str, nova: int | None = None) -> None:
        super().__init__()
        self.by_id: dict[str, Image] = {}
        self.others: set[str] = set()
        self._target, self._nova = target, nova

    def add(self, raw: dict[str, object]) -> None:
        """Add an image, unless it is deleted."""
        image = image_of(raw, self._target, self._nova)
        if image is None or image.id is None:
            return
        self.by_id[image.id] = image
        if raw.get("visibility") == "community":
            self.others.add(image.id)


def read_images(client: Client, nova: int | None = None) -> Images:
    """All images that this user may see; ``nova`` as in :class:`Images`."""
    listed = (
        page
        for query in ((), _HIDDEN)
        for page in pages(client, replace(IMAGES, query=(*query, *_ALL)))
    )
    return Images(client.cloud.target, nova).take_in(listed, IMAGES)


def image_of(raw: Mapping[str, object], target: str, nova: int | None = None) -> Image | None:
    """The record of one image; None if it is deleted."""
    identity = _text(raw, "id")
    if not identity or _text(raw, "status") in _NO_MORE:
        return None
    where = Location(target, xpath=f"images/{identity}")
    properties = tuple(
        Property(sys.intern(name), value, where)
        for name, value in sorted(raw.items())
        if name not in _ATTRIBUTES and isinstance(value, str)
    )
    values = {each.name: each.value for each in properties}
    system = values.get("os_distro")
    return Image(
        target,
        _text(raw, "name") or identity,
        where,
        properties,
        complete=True,
        disk_format=_text(raw, "disk_format") or None,
        libosinfo_model=None if system is None else emulated_model(system),
        id=identity,
        updated=_text(raw, "updated_at"),
        owner=_text(raw, "owner"),
        nova=nova,
        readiness=readiness_by(values),
    )


def _text(raw: Mapping[str, object], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def stored_properties(
    server: RawServer, image: Image | None
) -> tuple[tuple[tuple[str, str], ...], PropertiesSource]:
    """The properties, sorted, and how they are known."""
    if isinstance(server.image, RawImage) and server.image.properties is not None:
        said = ((name, text_of(value)) for name, value in server.image.properties.items())
        return tuple(sorted(said)), "api"
    if image is not None and _unchanged(image.updated, server.created or ""):
        copied = (
            (each.name, each.value[:_LONGEST])
            for each in image.properties
            if each.name.startswith(_PREFIXES) or each.name in _LEGACY
        )
        return tuple(sorted(copied)), "image"
    return (), "unseen"


def image_state(server: RawServer, image: Image | None, *, all_seen: bool) -> ImageState:
    """The state of the image that a server was created from: ``there``, ``gone``, ``unseen``, or
    ``volume`` for a server created from a volume. ``all_seen``: this user sees every image."""
    if image is not None:
        return "there"
    if server.image == "":
        return "volume"
    return "gone" if all_seen and server.image_id is not None else "unseen"


def _unchanged(updated: str, created: str) -> bool:
    """True if the image was certainly last changed before the server was created."""
    last, made = _time(updated), _time(created)
    return last is not None and made is not None and made - last >= _DOUBT


def _time(text: str) -> datetime | None:
    """The time in ``2026-11-22T03:18:17Z``; None if it is not a time in UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None


# Make a :class:`~vnicaudit.model.domain.Server` from a server, its ports, image and flavor. Pure.


_TAPS = 23
"""Nova since which os-vif creates the port of Open vSwitch, so that the interface is an
``ethernet``; before, it was a ``bridge`` with a ``virtualport``."""
_ELSEWHERE = frozenset({"dvs", "hyperv", "other"})
"""vif types of other hypervisors."""
_LIBVIRT = frozenset({"hw_machine_type", "hw_pointer_model", "hw_input_bus"})
"""Properties that only Nova's libvirt driver adds if an image has none."""


class CloudSurroundings(msgspec.Struct):
    """Facts of the cloud that its servers depend on."""

    cloud: CloudLogin
    microversions: Microversions
    nova: NovaVersions
    images: Images
    flavors: Flavors
    ports: Ports
    nodes: HypervisorNodes
    groups: ServerGroups
    aggregates: Aggregates
    projects: Projects
    networks: Networks

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
    target = around.cloud.target
    if not UUID.fullmatch(server.id):
        return ReadError(f"servers: {plain(server.id)!r} is not a server id", target)
    ports = around.ports.take(server.id)
    if server.status == "DELETED":
        return None
    ports = in_order(ports, server.macs, complete=around.ports.complete)
    image = around.images.by_id.get(server.image_id or "")
    node = around.nodes.node(server.host, server.node)
    flavor = embedded(server.flavor, around.flavors.of(server.flavor), target)
    config = _config(server, ports, image, flavor, around)
    arch = None if node is None else node.arch
    all_nics = AllNics(
        config.vif_model,
        queues_of(config, around.nova),
        packed_of(config, around.nova),
        taps=around.nova.oldest is None or around.nova.oldest >= _TAPS,
    )
    return Server(
        name=server.name or server.id,
        declared=declared_of(config, arch, launched=bool(server.launched), nics=len(ports)),
        location=Location(target, xpath=f"servers/{server.id}"),
        nics=nics_of(server.id, ports, all_nics, around.networks.mtus, target, server.networks),
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
        image_state=image_state(
            server, image, all_seen=around.cloud.admin and around.images.complete
        ),
        flavor=flavor,
        nova=around.nova,
        bindings=tuple(port.bound.binding for port in ports),
    )


def _reference(server: RawServer, around: CloudSurroundings) -> CloudServer:
    return CloudServer(
        id=server.id.lower(),
        name=server.name or server.id,
        project=server.tenant_id or "",
        project_name=around.projects.name(server.tenant_id),
        target=around.cloud.target,
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
