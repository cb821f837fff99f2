"""The cases of a rule, read from its YAML file. docs/reference/rule-cases.md describes the keys."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.domain import DomainConfig, Server
from vnicaudit.model.finding import OPENSTACK, Location, Readiness
from vnicaudit.model.host import Workload
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import (
    MULTIQUEUE,
    PACKED,
    CloudServer,
    Flavor,
    Image,
    ImageState,
    NodeFacts,
    NovaVersions,
    PortBinding,
    PropertiesSource,
    Property,
    ServerConfig,
)
from vnicaudit.platforms.infra_code.records import Kind, Statement, record_of

MAX_BYTES = 1 << 24
"""Maximum size of one file of cases."""

Facts = dict[str, object]
"""Fields of a record as they stand in YAML; their names are checked when the record is made."""


class ExpectedFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One finding that must be reported. Fields that are UNSET are not compared."""

    message: str
    severity: str
    confidence: str | msgspec.UnsetType = msgspec.UNSET
    line: int | msgspec.UnsetType | None = msgspec.UNSET
    column: int | msgspec.UnsetType | None = msgspec.UNSET
    file: str | msgspec.UnsetType = msgspec.UNSET
    related: list[str] | msgspec.UnsetType = msgspec.UNSET
    xpath: str | msgspec.UnsetType = msgspec.UNSET
    owner: str | msgspec.UnsetType = msgspec.UNSET
    change: Facts | msgspec.UnsetType | None = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET
    fix: str | msgspec.UnsetType = msgspec.UNSET
    fixes: list[Facts] | msgspec.UnsetType = msgspec.UNSET
    fix_has: str | list[str] = []
    fix_lacks: str | list[str] = []


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One case as it stands in the file."""

    name: str
    xml: str | None = None
    command: str | None = None
    nova_conf: str | None = None
    manifest: str | None = None
    objects: list[Facts] = []
    unread: list[str] = []
    listed: list[str] = []
    nova_confs: dict[str, str] = {}
    nova_nodes: dict[str, str] = {}
    nova_release: str | None = None
    image: Facts | None = None
    flavor: Facts | None = None
    server: Facts | None = None
    definition: Facts = {}
    booted: list[Facts] = []
    domain: Facts = {}
    owner: str | None = None
    readiness: str | None = None
    actual: str | None = None
    path: Facts = {}
    host: Facts = {}
    facts: Facts | None = None
    guests: list[Facts] = []
    workload: Workload | None = None
    running: Facts | list[Facts | None] = []
    state: Facts | None = None
    staged: list[Facts] = []
    coming: list[str] = []
    uses: list[str] = []
    settings: Facts = {}
    fail: list[ExpectedFinding] = []
    passes: bool = msgspec.field(default=False, name="pass")
    skip: str = ""


def cases_in(path: str) -> list[Case]:
    """The cases of one file. Raises UsageError, which names the key, if the file does not follow
    the format."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    with as_usage_error(path):
        text = read_regular(path, MAX_BYTES)
    try:
        data = YAML(typ="safe", pure=True).load(text.decode())
        found = converted(data, list[Case])
    except (YAMLError, ValueError, RecursionError) as error:  # ValidationError is a ValueError
        raise UsageError(f"{path}: {error}") from None
    for case in found:
        if bool(case.fail) + case.passes + bool(case.skip) != 1:
            raise UsageError(f"{path}: {case.name}: exactly one of fail, pass, skip")
    names = [case.name for case in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{path}: two cases are called {twice!r}")
    return found


# Cases of image and flavor rules: from properties to records.
#
# The property on line N of the case is on line N of ``images.tf``; a value that begins with ``$``
# comes from a variable and is unknown.


OPENSTACK_FILE = "images.tf"
_OF_A_CLOUD = ("servers", "nova", "readiness", "proven")


def image_of(properties: Facts, said: Facts, name: str = "cirros") -> Image:
    """An image. ``said`` may have ``disk_format`` and ``complete``; for an image of a live cloud
    also ``servers`` (how many use it), ``nova``, ``readiness`` and ``proven``."""
    record = record_of(_definition("image", name, properties, said), OPENSTACK_FILE)
    if not isinstance(record, Image):
        raise TypeError(name)
    return replace(record, **{name: said[name] for name in _OF_A_CLOUD if name in said})


def flavor_of(properties: Facts, said: Facts, booted: list[Facts]) -> Flavor:
    """A flavor. ``said`` may have ``vcpus`` and ``complete``; ``booted`` are the properties of the
    images it is booted with."""
    record = record_of(_definition("flavor", "m1", properties, said), OPENSTACK_FILE)
    if not isinstance(record, Flavor):
        raise TypeError("m1")
    images = tuple(image_of(each, {"disk_format": "qcow2"}) for each in booted)
    return replace(record, images=images)


def _definition(kind: Kind, name: str, properties: Facts, said: Facts) -> Statement:
    unknown = said.keys() - {"disk_format", "complete", "vcpus", *_OF_A_CLOUD}
    if unknown:
        raise ValueError(f"unknown keys of `definition`: {', '.join(unknown)}")
    place = Location(OPENSTACK_FILE, OPENSTACK_FILE, 1)
    found = tuple(
        Property(key, str(value), replace(place, line=line), not str(value).startswith("$"))
        for line, (key, value) in enumerate(properties.items(), 1)
    )
    return Statement(
        kind,
        name,
        place,
        found,
        open_ended=not said.get("complete", True),
        vcpus=converted(said.get("vcpus"), int | None),
        disk_format=converted(said.get("disk_format"), str | None),
    )


# Cases of rules that judge OpenStack servers: from the facts of a cloud to records.
#
# The records are made as the reader of clouds makes them: each port is a NIC, with the model that
# Nova stores, where that is known.


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
