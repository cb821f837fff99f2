"""Cases of rules that judge OpenStack servers: from the facts of a cloud to records.

The records are made as the reader of clouds makes them: each port is a NIC, with the model that
Nova stores, where that is known.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.decoding import converted
from vnicaudit.model.domain import DomainConfig, Server
from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.platform_name import OPENSTACK
from vnicaudit.model.server import (
    MULTIQUEUE,
    PACKED,
    CloudServer,
    ImageState,
    NodeFacts,
    NovaVersions,
    PortBinding,
    PropertiesSource,
    ServerConfig,
)
from vnicaudit.rule_cases.cases import Facts
from vnicaudit.rule_cases.images import flavor_of, image_of

CLOUD = "openstack:test"
ID = "6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01"
NODE_FILE = "node-1/nova.conf"

_TYPES = {"ovs": "ethernet", "bridge": "bridge", "vhostuser": "vhostuser", "macvtap": "direct"}
_ASSIGNED = {"direct": "hostdev", "direct-physical": "hostdev", "vdpa": "vdpa"}


class CaseServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server as a case describes it."""

    status: str = "ACTIVE"
    stored_properties: dict[str, str] = msgspec.field(name="kept", default={})
    kept_by: PropertiesSource = "api"
    image: Facts | None = None
    image_state: ImageState | None = None
    flavor: Facts = {}
    flavor_seen: bool = True
    vcpus: int = 2
    nova: tuple[int | None, int | None] | None = (34, 34)
    node: dict[str, str] | None = None
    ports: tuple[PortBinding, ...] = (PortBinding("normal", "ovs"),)
    arch: str | None = "x86_64"
    readiness: Readiness = "ready"


def server_of(case: Facts) -> Server:
    """The server of a case."""
    given = converted(case, CaseServer)
    kept = _server_config(given)
    nics = tuple(
        Nic(
            index,
            _nic(binding, kept, given.vcpus),
            Location(CLOUD, None, None, f"servers/{ID}/ports/{index}"),
            mac=f"fa:16:3e:00:00:{index:02x}",
        )
        for index, binding in enumerate(kept.bindings)
    )
    declared = DomainConfig(
        type="kvm",
        arch=given.arch,
        vcpus=given.vcpus,
        vcpus_max=given.vcpus,
        owner="nova",
        described_by=kept,
        platform=OPENSTACK,
        readiness=given.readiness,
        nics=len(nics),
    )
    place = Location(CLOUD, None, None, f"servers/{ID}")
    return Server("web", declared, place, nics, uuid=ID, cloud=CloudServer(ID, "web"))


def kept_of(case: Facts) -> ServerConfig:
    """The configuration that Nova stores for the server of a case."""
    return _server_config(converted(case, CaseServer))


def _server_config(given: CaseServer) -> ServerConfig:
    image = None
    if given.image is not None:
        image = image_of(given.image, {"disk_format": "qcow2"})
    said: Facts = {"vcpus": given.vcpus, "complete": given.flavor_seen}
    return ServerConfig(
        status=given.status,
        stored_properties=tuple(sorted(given.stored_properties.items())),
        properties_source=given.kept_by,
        image=image,
        image_state=given.image_state or ("gone" if image is None else "there"),
        flavor=flavor_of(given.flavor, said, []),
        nova=None if given.nova is None else NovaVersions("2.1", *given.nova),
        bindings=given.ports,
        node=None if given.node is None else NodeFacts(NODE_FILE, tuple(given.node.items())),
    )


def _nic(binding: PortBinding, kept: ServerConfig, vcpus: int) -> NicConfig:
    """See ``nics_of`` in vnicaudit/platforms/openstack/guest.py."""
    kind = _ASSIGNED.get(binding.vnic_type) or _TYPES.get(binding.vif_type)
    assigned = binding.vnic_type in _ASSIGNED
    model = None if assigned else "virtio" if kind == "direct" else kept.vif_model
    many = model == "virtio" and vcpus > 1 and kept.asks_for(MULTIQUEUE)
    return NicConfig(
        type=kind or "network",
        actual_type=kind,
        model=model,
        queues=vcpus if many else None,
        packed="on" if kept.asks_for(PACKED) and kind != "hostdev" else None,
    )
