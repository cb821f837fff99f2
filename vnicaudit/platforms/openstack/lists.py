"""The small lists that are joined to servers: hypervisors, host aggregates, server groups and
projects. Without permission for one, it is left out, and a note says so.

Sources: Nova 34.0.0, ``api/openstack/compute/hypervisors.py`` (``hypervisor_type`` is libvirt's
``getType``, QEMU for KVM as well; ``hypervisor_version`` is then QEMU's: ``virt/libvirt/host.py``
``get_version``); ``aggregates.py`` and ``policies/aggregates.py`` (only for admins, all in one
answer: ``limit`` is ignored; the zone is also a key of the metadata, ``objects/aggregate.py``);
``server_groups.py`` (pages by offset, deleted members left out, ``all_projects`` only for admins).
Keystone 30.0.0, ``api/projects.py`` and ``server/flask/common.py``: in pages if ``list_limit`` or
``limit`` says so, with the next one in ``links``; older releases cut the list short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vnicaudit.base.wording import plain
from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.host import Version
from vnicaudit.model.openstack import Aggregate
from vnicaudit.model.runs import ComputeNode
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.connect import connect
from vnicaudit.platforms.openstack.listing import REFUSED, Collection, Listing, microversions

_PAGE = 1000
_NODES_OF_PAGE = 100
"""Each comes with all features of its CPU."""
_ZONE = "availability_zone"


class Service(msgspec.Struct):
    host: str | None = None


class NodeCpu(msgspec.Struct):
    arch: str | None = None


class RawNode(msgspec.Struct):
    """One hypervisor in Nova's answer; ``cpu_info`` is a string up to 2.27, which is not read."""

    name: str | None = msgspec.field(name="hypervisor_hostname", default=None)
    kind: str | None = msgspec.field(name="hypervisor_type", default=None)
    version: int | None = msgspec.field(name="hypervisor_version", default=None)
    service: Service | None = None
    cpu_info: NodeCpu | str | None = None
    address: str | None = msgspec.field(name="host_ip", default=None)
    """``my_ip`` of its nova-compute."""
    state: str | None = None
    """``up`` or ``down``."""


class RawAggregate(msgspec.Struct):
    """One aggregate in Nova's answer."""

    name: str
    zone: str | None = msgspec.field(name=_ZONE, default=None)
    hosts: list[str] = []
    metadata: dict[str, str] = {}


class RawGroup(msgspec.Struct):
    """One server group in Nova's answer."""

    id: str
    members: list[str] = []


class RawProject(msgspec.Struct):
    """One project in Keystone's answer."""

    id: str
    name: str


NODES = Listing(
    "compute", "/os-hypervisors/detail", "hypervisors", json_decoder(RawNode), _NODES_OF_PAGE,
    refused=REFUSED, hidden="hypervisors (type, QEMU's version, architecture)",
)  # fmt: skip
AGGREGATES = Listing(
    "compute", "/os-aggregates", "aggregates", json_decoder(RawAggregate), None,
    refused=REFUSED, hidden="host aggregates",
)  # fmt: skip
GROUPS = Listing(
    "compute", "/os-server-groups", "server_groups", json_decoder(RawGroup), _PAGE,
    (("all_projects", "True"),), by_offset=True, refused=frozenset({403}),
    hidden="server groups (so that apply and rollback may have several members of one off at a "
    "time)",
)  # fmt: skip
PROJECTS = Listing(
    "identity", "/projects", "projects", json_decoder(RawProject), _PAGE,
    # 401: Keystone does not list projects for the scope of this token
    refused=REFUSED | {401}, hidden="this user may not",
)  # fmt: skip


class HypervisorNode(NamedTuple):
    """One hypervisor: ``kind`` in lower case; for QEMU its current version (a guest may have been
    started by an older one); and the architecture of its CPU."""

    kind: str
    qemu: Version | None = None
    arch: str | None = None


class HypervisorNodes(Collection[RawNode]):
    """Hypervisors by host and name."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[tuple[str, str], HypervisorNode] = {}

    def node(self, host: str | None, name: str | None) -> HypervisorNode | None:
        """The hypervisor of a server; None if it is unknown."""
        return None if host is None or name is None else self._of.get((host, name))

    def add(self, raw: RawNode) -> None:
        """Add a hypervisor."""
        if raw.kind is None or raw.name is None or raw.service is None or raw.service.host is None:
            return
        kind, version = raw.kind.lower(), raw.version or 0
        qemu = Version.from_libvirt(version) if kind == "qemu" and version > 0 else None
        arch = raw.cpu_info.arch if isinstance(raw.cpu_info, NodeCpu) else None
        self._of[raw.service.host, raw.name] = HypervisorNode(kind, qemu, arch)


class Aggregates(Collection[RawAggregate]):
    """Aggregates by host."""

    def __init__(self) -> None:
        super().__init__()
        self._of: defaultdict[str, list[Aggregate]] = defaultdict(list)

    def add(self, raw: RawAggregate) -> None:
        """Add an aggregate, under each of its hosts."""
        aggregate = _aggregate(raw)
        for host in dict.fromkeys(raw.hosts):
            self._of[host].append(aggregate)

    def of(self, host: str | None) -> tuple[Aggregate, ...]:
        """Aggregates of a host, in Nova's order."""
        return () if host is None else tuple(self._of.get(host, ()))


class ServerGroups(Collection[RawGroup]):
    """Ids of server groups by the id of a member."""

    def __init__(self) -> None:
        super().__init__()
        self._of: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, raw: RawGroup) -> None:
        """Add a server group."""
        for member in raw.members:
            self._of[member].append(raw.id)

    def of(self, server: str) -> tuple[str, ...]:
        """Ids of the groups a server is a member of."""
        return tuple(self._of.get(server, ()))


class Projects(Collection[RawProject]):
    """``names``: id -> name. Nothing is judged by a name, so ``errors`` are not reported: a project
    without a name is shown by its id."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = {key: plain(name) for key, name in names.items() if key}

    @property
    def reason(self) -> str:
        """The reason why some may be missing; empty if Keystone has listed them."""
        failed = self.errors[-1].message if self.visible is None and self.errors else ""
        return self.hidden or failed

    def name(self, project: str | None) -> str:
        """The name of a project; empty if it is unknown."""
        return self.names.get(project or "", "")

    def add(self, raw: RawProject) -> None:
        """Add a project."""
        self.names[raw.id] = plain(raw.name)


def read_projects(client: Client) -> Projects:
    """Read the projects of the whole cloud, if this user may list them (an admin, or a user whose
    role an operator allowed to); otherwise only the project of the login, which its token names."""
    known = Projects({client.cloud.project: client.cloud.project_name})
    return known.read(client, PROJECTS)


def _aggregate(raw: RawAggregate) -> Aggregate:
    keys = sorted(raw.metadata.items())
    return Aggregate(
        plain(raw.name),
        plain(raw.zone or ""),
        tuple((plain(key), plain(value)) for key, value in keys if key != _ZONE),
    )


# The hosts of a cloud that run its servers, by its hypervisors and host aggregates.


class _Hypervisors(Collection[RawNode]):
    """All hypervisors that are QEMU, in Nova's order."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[RawNode] = []

    def add(self, raw: RawNode) -> None:
        """Add a hypervisor, if it is QEMU."""
        if raw.name and (raw.kind or "").lower() in ("qemu", "kvm"):
            self.all.append(raw)


def compute_nodes_of(
    cloud: str, *, deadline: float, total: float | None = None
) -> list[ComputeNode]:
    """The hosts of a cloud whose hypervisor is QEMU. Raises TargetError if this user may not list
    them, or the list cannot be read to its end; MissingExtraError without openstacksdk."""
    client = Client(connect(cloud, deadline=deadline, total=total))
    wanted = microversions(client.endpoint("compute").microversion)
    found = _Hypervisors().read(client, NODES.at(wanted.nodes))
    if found.visible is False:
        text = "only admins can see its hypervisors: log in as one, or list the hosts yourself"
        raise TargetError(text, file=client.cloud.target)
    if found.errors:
        raise TargetError(found.errors[0].message, file=client.cloud.target)
    aggregates = Aggregates().read(client, AGGREGATES)
    return [_node(raw, aggregates) for raw in found.all]


def _node(raw: RawNode, aggregates: Aggregates) -> ComputeNode:
    host = raw.service.host if raw.service is not None else None
    member = aggregates.of(host)
    return ComputeNode(
        name=plain(raw.name or ""),
        address=plain(raw.address or ""),
        zone=next((one.zone for one in member if one.zone), ""),
        aggregates=tuple(one.name for one in member),
        up=raw.state != "down",
    )
