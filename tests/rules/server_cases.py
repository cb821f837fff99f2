"""Cases of rules that judge servers of OpenStack: from what a cloud says to records.

What is made of it here is what the reader of clouds makes: each port is a NIC, whose model is what
Nova keeps, where that is known.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.rules.openstack_cases import flavor_of, image_of
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.server import (
    MULTIQUEUE,
    PACKED,
    ImageState,
    Kept,
    NodeFacts,
    NovaVersions,
    PortBinding,
    ServerConfig,
    ServerRef,
)

CLOUD = "openstack:test"
ID = "6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01"
NODE_FILE = "node-1/nova.conf"

_TYPES = {"ovs": "ethernet", "bridge": "bridge", "vhostuser": "vhostuser", "macvtap": "direct"}
_ASSIGNED = {"direct": "hostdev", "direct-physical": "hostdev", "vdpa": "vdpa"}


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server as a case describes it."""

    status: str = "ACTIVE"
    kept: dict[str, str] = {}
    kept_by: Kept = "api"
    image: dict[str, Any] | None = None
    image_state: ImageState | None = None
    flavor: dict[str, Any] = {}
    flavor_seen: bool = True
    vcpus: int = 2
    nova: tuple[int | None, int | None] | None = (34, 34)
    node: dict[str, str] | None = None
    ports: tuple[PortBinding, ...] = (PortBinding("normal", "ovs"),)
    arch: str | None = "x86_64"
    readiness: str = "ready"


def server_of(case: dict[str, Any]) -> Domain:
    """The server of a case, as a domain."""
    given = msgspec.convert(case, Given)
    kept = _kept(given)
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
        form="server",
        readiness=given.readiness,
        nics=len(nics),
        server=kept,
    )
    place = Location(CLOUD, None, None, f"servers/{ID}")
    return Domain("web", declared, place, nics, ID, cloud=ServerRef(ID, "web"))


def kept_of(case: dict[str, Any]) -> ServerConfig:
    """What Nova keeps of the server of a case."""
    return _kept(msgspec.convert(case, Given))


def _kept(given: Given) -> ServerConfig:
    image = None
    if given.image is not None:
        image = image_of(given.image, {"disk_format": "qcow2"})
    said = {"vcpus": given.vcpus, "complete": given.flavor_seen}
    return ServerConfig(
        status=given.status,
        kept=tuple(sorted(given.kept.items())),
        kept_by=given.kept_by,
        image=image,
        image_state=given.image_state or ("gone" if image is None else "there"),
        flavor=flavor_of(given.flavor, said, []),
        nova=None if given.nova is None else NovaVersions("2.1", *given.nova),
        bindings=given.ports,
        node=None if given.node is None else NodeFacts(NODE_FILE, tuple(given.node.items())),
    )


def _nic(binding: PortBinding, kept: ServerConfig, vcpus: int) -> NicConfig:
    """See ``nics_of`` in vnicaudit/platforms/openstack/nics.py."""
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
