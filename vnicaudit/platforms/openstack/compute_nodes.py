"""The hosts of a cloud that run its servers, by its hypervisors and host aggregates.

Source: Nova 34.0.0, ``api/openstack/compute/hypervisors.py`` (``host_ip`` is ``my_ip`` of that
nova-compute, ``state`` is ``up`` or ``down``).
"""

from __future__ import annotations

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.cloud_state import ComputeNode
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.live import CloudLimits
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.connect import connect
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.listing import Collection, Listing
from vnicaudit.platforms.openstack.lists import AGGREGATES, NODES, Aggregates, Service
from vnicaudit.platforms.openstack.versions import microversions

_NAME = 253


class RawHypervisor(msgspec.Struct):
    """One hypervisor in Nova's answer."""

    name: str | None = msgspec.field(name="hypervisor_hostname", default=None)
    kind: str | None = msgspec.field(name="hypervisor_type", default=None)
    address: str | None = msgspec.field(name="host_ip", default=None)
    state: str | None = None
    service: Service | None = None


class _Hypervisors(Collection[RawHypervisor]):
    """All hypervisors that are QEMU, in Nova's order."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[RawHypervisor] = []

    def add(self, raw: RawHypervisor) -> None:
        """Add a hypervisor, if it is QEMU."""
        if raw.name and (raw.kind or "").lower() in ("qemu", "kvm"):
            self.all.append(raw)


def compute_nodes_of(
    cloud: str, *, deadline: float, limits: CloudLimits | None = None
) -> list[ComputeNode]:
    """The hosts of a cloud whose hypervisor is QEMU. Raises TargetError if this user may not list
    them, or the list cannot be read to its end; MissingExtraError without openstacksdk."""
    client = Client(connect(cloud, deadline=deadline, limits=limits))
    found = _hypervisors(client)
    aggregates = Aggregates().read(client, AGGREGATES)
    return [_node(raw, aggregates) for raw in found.all]


def _hypervisors(client: Client) -> _Hypervisors:
    wanted = microversions(client.endpoint("compute").microversion)
    listing = Listing(
        NODES.service, NODES.path, NODES.key, json_decoder(RawHypervisor),
        NODES.limit if wanted.paged_nodes else None, refused=NODES.refused, hidden=NODES.hidden,
    ).at(wanted.nodes)  # fmt: skip
    found = _Hypervisors().read(client, listing)
    target = client.cloud.target
    if found.visible is False:
        text = "only admins can see its hypervisors: log in as one, or list the hosts yourself"
        raise TargetError(text, file=target)
    if found.errors:
        raise TargetError(found.errors[0].message, file=target)
    return found


def _node(raw: RawHypervisor, aggregates: Aggregates) -> ComputeNode:
    host = raw.service.host if raw.service is not None else None
    member = aggregates.of(host)
    return ComputeNode(
        name=plain(raw.name or "")[:_NAME],
        address=plain(raw.address or "")[:_NAME],
        zone=next((one.zone for one in member if one.zone), ""),
        aggregates=tuple(one.name for one in member),
        up=raw.state != "down",
    )
