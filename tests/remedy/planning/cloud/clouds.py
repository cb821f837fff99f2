"""Servers, images and flavors as a cloud hands them out (Nova 34, Neutron with Open vSwitch), and
plans of them."""

from typing import Any

from msgspec.structs import replace

from tests.remedy.planning.blocked import coded
from tests.remedy.planning.planned import requested, selected
from tests.remedy.works import work
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import DomainConfig, Server
from vnicaudit.model.finding import OPENSTACK, Location, Readiness
from vnicaudit.model.fleet import CloudRecord
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import (
    CloudServer,
    Flavor,
    Image,
    NovaVersions,
    PortBinding,
    Property,
    ServerConfig,
)
from vnicaudit.model.plan import NotPlanned, Planned, Step, UnitStep
from vnicaudit.remedy.planning.cloud.items import CloudPlanner
from vnicaudit.remedy.planning.run import PlanOptions

CLOUD = "openstack:prod"
ID = "0c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77"
IMAGE = "5b1f3a0c-2f4d-4b6a-8d0e-3c9e7f1a2b44"
PROJECT = "9a7c0d3f4b5e4c1d8f2a6b7c8d9e0f11"
MAC, SECOND = "fa:16:3e:00:00:01", "fa:16:3e:00:00:02"
PORT = "3f0b6b0e-93d0-4d0a-8a43-6f6f7a3f6a01"

NOVA_34 = NovaVersions("2.104", 34, None)
NOVA_29 = NovaVersions("2.96", 29, 30)
NOVA_24 = NovaVersions("2.90", 24, 24)
READY = "http://debian.org/debian/12"
WINDOWS = "http://microsoft.com/win/2k22"
OVS = PortBinding("normal", "ovs", "system", hybrid=False)


def properties(values: dict[str, str], place: str = "images/i") -> tuple[Property, ...]:
    """Properties, or extra specs, set on one object."""
    where = Location(CLOUD, None, None, place)
    return tuple(Property(name, value, where) for name, value in values.items())


def image(values: dict[str, str] | None = None, **said: Any) -> Image:
    """An image of the project; rtl8139 on a Debian that libosinfo knows, where nothing is said."""
    chosen = {"hw_vif_model": "rtl8139", "os_distro": "debian12"} if values is None else values
    given: dict[str, Any] = {
        "id": IMAGE, "name": "legacy", "owner": PROJECT, "servers": 1, "disk_format": "qcow2",
        "libosinfo_model": "e1000e", "complete": True, "updated": "2024-05-01T10:00:00Z", **said,
    }  # fmt: skip
    return Image(
        target=CLOUD,
        location=Location(CLOUD, None, None, f"images/{given['id']}"),
        properties=properties(chosen),
        **given,
    )


def flavor(specs: dict[str, str] | None = None, **said: Any) -> Flavor:
    """A flavor with two vCPUs."""
    given: dict[str, Any] = {"id": "2", "name": "m1.small", "vcpus": 2, "complete": True, **said}
    return Flavor(
        target=CLOUD,
        location=Location(CLOUD, None, None, f"flavors/{given['id']}"),
        properties=properties(specs or {}, f"flavors/{given['id']}"),
        **given,
    )


def port(
    model: str | None, mac: str | None = MAC, index: int = 0, *, kind: str = "ethernet",
    **set_: Any,
) -> Nic:  # fmt: skip
    """A port of a server, as the reader has it."""
    return Nic(
        index=index,
        declared=NicConfig(type=kind, actual_type=kind, model=model, **set_),
        location=Location(CLOUD, None, None, f"servers/{ID}/ports/{PORT}"),
        mac=mac,
        source=PORT,
    )


def server(
    *ports: Nic, kept: dict[str, str] | None = None, status: str = "ACTIVE",
    os_id: str | None = READY, readiness: Readiness = "ready", name: str = "web-01", id: str = ID,
    vcpus: int = 2, machine: str | None = "pc-i440fx-7.2", kind: str = "kvm",
    config: dict[str, Any] | None = None, ref: dict[str, Any] | None = None,
) -> Server:  # fmt: skip
    """A server; one port with rtl8139 where nothing is said. ``config`` and ``ref``: fields of the
    records, instead of those of a server that runs on host ``cmp1`` of a cloud with Nova 34."""
    nics = ports or (port("rtl8139"),)
    model = next((nic.declared.model for nic in nics if nic.declared.model), None)
    values = ({"hw_vif_model": model} if model else {}) if kept is None else kept
    declared = {
        "status": status, "stored_properties": tuple(sorted(values.items())),
        "properties_source": "api",
        "image": image(), "image_state": "there", "flavor": flavor(vcpus=vcpus), "nova": NOVA_34,
        "bindings": (OVS,) * len(nics), **(config or {}),
    }  # fmt: skip
    who = {
        "project": PROJECT, "host": "cmp1", "instance_name": "instance-0000002a", "zone": "nova",
        "vm_state": "active" if status == "ACTIVE" else status.lower(), **(ref or {}),
    }  # fmt: skip
    return Server(
        name=name,
        declared=DomainConfig(
            type=kind, arch="x86_64", machine=machine, vcpus=vcpus, owner="nova",
            described_by=ServerConfig(**declared), platform=OPENSTACK, os_id=os_id,
            readiness=readiness, nics=len(nics),
        ),
        location=Location(CLOUD, None, None, f"servers/{id}"),
        nics=nics,
        uuid=id,
        cloud=CloudServer(id, name, **who),
    )  # fmt: skip


def tenants(server: Server) -> Server:
    """The same server as its project sees it: Nova does not say where it runs."""
    return replace(server, cloud=replace(server.cloud, host=None, instance_name=None))


def plan(
    *items: CloudRecord, options: PlanOptions = PlanOptions(), rules: tuple[str, ...] = (),  # noqa: B008
    judge: AuditWork | None = None,
) -> list[Planned]:  # fmt: skip
    """All that comes of a cloud. ``rules``: only these are asked for; ``judge``: what judges in the
    place of the rules."""
    asked = judge or (selected(*rules) if rules else work())
    planner = CloudPlanner(requested(asked, judge or work(), options), CLOUD)
    for item in items:
        planner.add(item)
    return coded(planner.plan())


def steps(*items: CloudRecord, **given: Any) -> list[Step]:
    """All steps, where nothing is left."""
    found = plan(*items, **given)
    assert all(isinstance(one, UnitStep) for one in found), found
    return [one for one in found if isinstance(one, UnitStep)]


def step(*items: CloudRecord, **given: Any) -> Step:
    """The one step."""
    (found,) = steps(*items, **given)
    return found


def left(*items: CloudRecord, **given: Any) -> NotPlanned:
    """The one object that is left."""
    (found,) = plan(*items, **given)
    assert isinstance(found, NotPlanned), found
    return found
