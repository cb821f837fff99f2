"""Raw servers and what is around them, for tests of what is made of them."""

import json
from typing import Any

from vnicaudit.model.domain import DomainConfig, Server
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.openstack import Image, NovaVersions, ServerConfig
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.images import CloudSurroundings, Images, image_of, server_of
from vnicaudit.platforms.openstack.listing import microversions
from vnicaudit.platforms.openstack.lists import Aggregates, HypervisorNodes, Projects, ServerGroups
from vnicaudit.platforms.openstack.network import Networks, Ports, RawPort
from vnicaudit.platforms.openstack.servers import SERVERS, Flavors, RawServer
from vnicaudit.platforms.openstack.session import CloudRegion, CountingSession

ID = "11111111-2222-3333-4444-555555555555"
IMAGE = "66666666-2222-3333-4444-555555555555"
MAC = "fa:16:3e:00:00:01"
NOVA_34 = NovaVersions("2.104", 34, 34)
HOST = {"OS-EXT-SRV-ATTR:host": "cmp1", "OS-EXT-SRV-ATTR:hypervisor_hostname": "node1"}


def raw(properties: dict[str, Any] | None = None, **changes: Any) -> RawServer:
    """A server as Nova 34 describes it; ``properties`` are those it keeps. ``specs`` are extra
    specs of its flavor, which has two vCPUs."""
    specs, vcpus = changes.pop("specs", {}), changes.pop("vcpus", 2)
    image: dict[str, Any] = {"id": IMAGE}
    if properties is not None:
        image["properties"] = properties
    said = {
        "id": ID,
        "name": "web",
        "status": "ACTIVE",
        "created": "2026-11-22T03:18:06Z",
        "OS-SRV-USG:launched_at": "2026-11-22T03:18:19.000000",
        "image": image,
        "flavor": {"original_name": "m1", "vcpus": vcpus, "extra_specs": specs},
        **changes,
    }
    return SERVERS.decoder.decode(json.dumps(said))


def port(**said: Any) -> RawPort:
    """A port of that server."""
    details = said.pop("details", None)
    return RawPort(
        id=said.pop("id", "p1"),
        device_id=ID,
        device_owner=said.pop("owner", "compute:nova"),
        mac=said.pop("mac", MAC),
        network=said.pop("network", "n1"),
        vnic_type=said.pop("vnic", "normal"),
        vif_type=said.pop("vif", "ovs"),
        details=details,
    )


def image(**said: Any) -> Image:
    """An image that was not changed for long."""
    text = {"id": IMAGE, "status": "active", "updated_at": "2026-01-01T00:00:00Z", **said}
    found = image_of(text, "openstack:c")
    assert found is not None
    return found


def around(*ports: RawPort, nova: NovaVersions = NOVA_34, **said: Any) -> CloudSurroundings:
    """A cloud with these ports and, where given, one image."""
    found = Ports()
    found.visible = said.pop("complete", True) or None
    for each in ports:
        found.add(each)
    networks = Networks()
    networks.mtus.update(said.pop("mtus", {"n1": 1450}))
    images = Images("openstack:c")
    images.visible = True
    if (one := said.pop("image", None)) is not None:
        images.by_id[IMAGE] = one
    roles = frozenset({"admin"} if said.pop("admin", False) else ())
    cloud = CloudLogin("c", CloudRegion(), CountingSession(), 30, roles)
    return CloudSurroundings(
        cloud, microversions((2, 104)), nova, images, Flavors("openstack:c"), found,
        said.pop("nodes", HypervisorNodes()), ServerGroups(), said.pop("aggregates", Aggregates()),
        said.pop("projects", Projects({})), networks, **said,
    )  # fmt: skip


def domain(server: RawServer, near: CloudSurroundings | None = None) -> Server:
    """The server."""
    found = server_of(server, near or around(port()))
    assert isinstance(found, Server)
    return found


def declared(server: RawServer, near: CloudSurroundings | None = None) -> DomainConfig:
    """What is set for all of it."""
    return domain(server, near).declared


def kept(server: RawServer, near: CloudSurroundings | None = None) -> ServerConfig:
    """What Nova keeps of it."""
    found = declared(server, near).server
    assert found is not None
    return found


def nic(server: RawServer, near: CloudSurroundings | None = None) -> NicConfig:
    """What is set for its one NIC."""
    [found] = domain(server, near).nics
    return found.declared
