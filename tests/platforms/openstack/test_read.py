"""A whole cloud, end to end: openstacksdk, HTTP, pages, records."""

import copy
from typing import NamedTuple
from uuid import uuid4

import pytest

from tests.platforms.openstack.cloud import (
    PASSWORD,
    Asked,
    FakeCloud,
    Intercept,
    Item,
    Reply,
    load,
    recorded_error,
    reply,
)
from tests.platforms.openstack.entering import read
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Server
from vnicaudit.model.host import Version
from vnicaudit.model.openstack import (
    Aggregate,
    CloudServer,
    Flavor,
    Image,
    NovaVersions,
    ServerConfig,
)
from vnicaudit.model.report import ReadError

UNAVAILABLE = reply(503, {"message": "upstream is down"}, x_openstack_request_id="req-1")
SERVERS = "/compute/v2.1/servers/detail"
PORTS = "/network/v2.0/ports"


class Read(NamedTuple):
    """All that came of a cloud."""

    servers: dict[str, Server]
    images: list[Image]
    flavors: list[Flavor]
    errors: list[str]
    notes: tuple[str, ...]
    calls: dict[str, int]

    def config(self, name: str) -> ServerConfig:
        """What Nova keeps of a server."""
        return self.servers[name].config

    def reference(self, name: str) -> CloudServer:
        """Who a server is."""
        return self.servers[name].cloud


def everything(name: str) -> Read:
    reading = read(name, deadline=30)
    items = list(reading.items)
    kinds = [Server, Image, Flavor]
    order = [kinds.index(type(item)) for item in items if not isinstance(item, ReadError)]
    assert order == sorted(order)
    return Read(
        {item.name: item for item in items if isinstance(item, Server)},
        [item for item in items if isinstance(item, Image)],
        [item for item in items if isinstance(item, Flavor)],
        [item.message for item in items if isinstance(item, ReadError)],
        reading.notes,
        reading.calls,
    )


def failing(path: str, answer: Reply, *, after: int = 0) -> Intercept:
    """An intercept that answers so, from the request behind ``after`` others on."""
    seen = [0]

    def intercept(asked: Asked) -> Reply | None:
        if asked.path != path:
            return None
        seen[0] += 1
        return answer if seen[0] > after else None

    return intercept


def more_servers(cloud: FakeCloud, count: int) -> None:
    """So many copies of one server, each with its port."""
    [server] = [each for each in load("admin/servers-2.98") if each["name"] == "old"]
    [port] = [each for each in load("admin/ports") if each["device_id"] == server["id"]]
    cloud.admin.servers, cloud.admin.ports = [], []
    for number in range(count):
        identity = str(uuid4())
        mac = f"fa:16:3e:00:{number >> 8:02x}:{number & 255:02x}"
        addresses = {"net": [{"OS-EXT-IPS-MAC:mac_addr": mac, "addr": "10.9.0.1", "version": 4}]}
        named: Item = {"id": identity, "name": f"server {number}", "addresses": addresses}
        cloud.admin.servers.append({**server, **named})
        own: Item = {"id": str(uuid4()), "device_id": identity, "mac_address": mac}
        cloud.admin.ports.append({**port, **own})


@pytest.mark.usefixtures("cloud")
def test_an_admin_is_shown_the_servers_of_all_projects() -> None:
    found = everything("admin")
    names = ["rd-two", "rd-none", "rd-error", "tenant", "old2", "old", "b", "a"]
    assert list(found.servers) == names
    assert found.errors == []
    projects = {found.reference(name).project for name in names}
    assert projects == {"bdf8e1534c7b48fba40a980a5f599aab", "f324e78b7e724f4499d90957e67b1c2c"}


@pytest.mark.usefixtures("cloud")
def test_a_server_is_a_domain() -> None:
    server = everything("admin").servers["old"]
    declared = server.declared
    assert server.uuid == "89ec0f0b-f6ec-4a08-b51f-adbdc8a1ff32"
    assert str(server.location.xpath) == f"servers/{server.uuid}"
    assert (declared.form, declared.owner, declared.type) == ("server", "nova", "kvm")
    assert (declared.arch, declared.machine, declared.vcpus) == ("x86_64", "pc", 1)
    assert server.qemu_version == Version(7, 2, 22)
    assert server.cloud == CloudServer(
        id="89ec0f0b-f6ec-4a08-b51f-adbdc8a1ff32",
        name="old",
        project="bdf8e1534c7b48fba40a980a5f599aab",
        host="cmp1",
        instance_name="instance-00000003",
        zone="nova",
        created="2026-11-22T03:18:06Z",
        vm_state="stopped",
        power_state=4,
        locked=False,
        project_name="admin",
        aggregates=(Aggregate("agg-one", "nova", (("ssd", "true"),)),),
        target="openstack:admin",
        image="aa5afa4b-8a54-4124-a6c2-f7baff8edcaf",
    )


@pytest.mark.usefixtures("cloud")
def test_a_port_is_a_nic() -> None:
    [nic] = everything("admin").servers["old"].nics
    assert (nic.index, nic.mac) == (0, "fa:16:3e:61:69:10")
    assert nic.source == "1b49a19d-b929-4b9c-b0c7-fefa35565c4e"
    assert nic.location.target == "openstack:admin"
    server = "89ec0f0b-f6ec-4a08-b51f-adbdc8a1ff32"
    assert nic.location.xpath == f"servers/{server}/ports/{nic.source}"
    declared = nic.declared
    assert (declared.type, declared.actual_type, declared.model) == ("ethernet",) * 2 + ("rtl8139",)
    assert (declared.mtu, declared.queues) == (1500, None)


@pytest.mark.usefixtures("cloud")
def test_what_nova_keeps_is_not_what_the_image_says() -> None:
    found = everything("admin")
    config = found.config("a")
    assert config.properties_source == "api"
    assert config.property("hw_vif_model") == "virtio"
    assert config.image is not None
    assert config.image.certain_value("hw_vif_model") == "rtl8139"
    assert found.servers["a"].nics[0].declared.model == "virtio"


@pytest.mark.usefixtures("cloud")
def test_multiqueue_that_nova_keeps_has_a_queue_for_each_vcpu() -> None:
    assert everything("admin").servers["b"].nics[0].declared.queues == 2


@pytest.mark.usefixtures("cloud")
def test_servers_in_other_states() -> None:
    found = everything("admin")
    two, error, none = (found.servers[name] for name in ("rd-two", "rd-error", "rd-none"))
    assert [nic.declared.model for nic in two.nics] == ["e1000", "e1000"]
    assert [nic.declared.actual_type for nic in two.nics] == [None, None]  # unbound
    assert found.config("rd-two").status == "SHELVED_OFFLOADED"
    assert found.reference("rd-two").groups == ("b7d899d5-4760-4755-9c77-be3a06741de6",)
    assert (found.config("rd-error").status, error.nics) == ("ERROR", ())
    assert error.declared.readiness == "unknown"  # it never ran
    assert none.nics == ()
    assert found.reference("rd-none").locked_reason == "do not touch"


@pytest.mark.usefixtures("cloud")
def test_images_by_use_and_flavors_with_their_images() -> None:
    found = everything("admin")
    used = [(image.name, image.servers) for image in found.images]
    assert used[:3] == [("legacy", 4), ("plain", 3), ("rd-hidden", 1)]
    assert ("rd-windows", 0) in used
    by_name = {flavor.name: flavor for flavor in found.flavors}
    assert by_name["m1"].servers == 5
    assert {image.name for image in by_name["m1"].images} == {"legacy", "plain", "rd-hidden"}
    assert by_name["rd-mq"].certain_value("hw:vif_multiqueue_enabled") == "true"
    assert (by_name["fake"].servers, by_name["fake"].images) == (0, ())


@pytest.mark.usefixtures("cloud")
def test_an_image_has_its_properties_and_no_attribute() -> None:
    [image] = [each for each in everything("admin").images if each.name == "legacy"]
    assert {each.name: each.value for each in image.properties} == {
        "hw_vif_model": "rtl8139",
        "kernel_id": "f7b90972-73cf-4f79-8e5a-d7a0ca0853e0",
        "os_command_line": "console=ttyS0 quiet",
        "owner_specified.openstack.md5": "",
        "owner_specified.openstack.object": "images/legacy",
        "owner_specified.openstack.sha256": "",
        "ramdisk_id": "693d7209-0230-4b51-a7f1-3852c04add3c",
    }
    assert image.complete
    assert (image.disk_format, image.updated) == ("raw", "2026-11-22T03:18:17Z")


@pytest.mark.usefixtures("cloud")
def test_notes_of_an_admin() -> None:
    assert everything("admin").notes == (
        "Nova 34 (its API goes to 2.104)",
        "the model that os_distro implies is taken from the table that comes with vnicaudit "
        "(osinfo-db 20250619); the table on each compute node decides",
    )


@pytest.mark.usefixtures("cloud")
def test_a_tenant_is_shown_his_own_and_told_what_he_is_not_shown() -> None:
    found = everything("demo")
    assert list(found.servers) == ["tenant"]
    assert found.errors == []
    assert found.notes[1] == (
        "shown to an admin, but not to a tenant of project 'demo': servers of other "
        "projects, and images that only they see; the host of a server and its name in "
        "libvirt; hypervisors (type, QEMU's version, architecture); host aggregates; how "
        "ports are bound (binding:vif_type)"
    )
    server = found.servers["tenant"]
    assert found.reference("tenant").host is None
    assert found.reference("tenant").project_name == "demo"  # as the token has it
    assert server.declared.arch == "x86_64"  # by its machine type
    assert (server.nics[0].declared.model, server.nics[0].declared.actual_type) == ("rtl8139", None)
    assert server.nics[0].source == "5891fe13-37f9-465d-8c26-88e3ad21764a"


def test_a_tenant_is_spared_the_community(cloud: FakeCloud) -> None:
    assert "rd-windows" not in [image.name for image in everything("demo").images]
    [image] = [each for each in cloud.demo.images if each["name"] == "rd-windows"]
    cloud.demo.servers[0]["image"]["id"] = image["id"]
    assert everything("demo").images[0].name == "rd-windows"


def test_calls_grow_with_pages_and_not_with_servers(cloud: FakeCloud) -> None:
    more_servers(cloud, 150)
    few = everything("admin").calls
    assert few == {"compute": 7, "identity": 3, "image": 3, "network": 2}
    more_servers(cloud, 450)
    many = everything("admin")
    assert many.calls == {**few, "compute": 9}
    assert len(many.servers) == 450
    assert {len(server.nics) for server in many.servers.values()} == {1}


def test_without_neutron_the_rest_is_read(cloud: FakeCloud) -> None:
    cloud.intercept = failing(PORTS, UNAVAILABLE)
    found = everything("admin")
    assert found.errors == [
        f"network: GET {cloud.url}/network/v2.0/ports: 503 (request req-1): upstream is down; the "
        "service is not available: try again later; tried 4 times"
    ]
    [nic] = found.servers["old"].nics
    assert (nic.mac, nic.source, nic.declared.model) == ("fa:16:3e:61:69:10", None, "rtl8139")
    assert nic.location.xpath == f"servers/{found.servers['old'].uuid}/addresses/{nic.mac}"
    assert found.images[0].servers == 4


def test_what_did_not_answer_is_an_error_and_no_missing_right(cloud: FakeCloud) -> None:
    lists = (PORTS, "/compute/v2.1/os-hypervisors/detail", "/compute/v2.1/os-aggregates")
    cloud.intercept = lambda asked: UNAVAILABLE if asked.path in lists else None
    found = everything("admin")
    assert [error.split(": 503")[0] for error in found.errors] == [
        f"{path.split('/')[1]}: GET {cloud.url}{path}" for path in lists
    ]
    assert not [note for note in found.notes if "not shown" in note]


@pytest.mark.parametrize("status", [403, 404, 410])
def test_what_is_refused_is_no_error_but_a_missing_right(cloud: FakeCloud, status: int) -> None:
    lists = ("/compute/v2.1/os-hypervisors/detail", "/compute/v2.1/os-aggregates")
    cloud.intercept = lambda asked: reply(status, {}) if asked.path in lists else None
    found = everything("admin")
    assert found.errors == []
    assert found.notes[1] == (
        "shown to an admin, but not to this user: hypervisors (type, QEMU's version, "
        "architecture); host aggregates"
    )


def test_neutron_that_fails_half_way_has_told_something(cloud: FakeCloud) -> None:
    more_servers(cloud, 1100)
    cloud.intercept = failing(PORTS, UNAVAILABLE, after=1)
    found = everything("admin")
    assert len(found.errors) == 1
    sources = [server.nics[0].source is None for server in found.servers.values()]
    assert sources == [False] * 1000 + [True] * 100


def test_nova_that_fails_half_way_has_told_something(cloud: FakeCloud) -> None:
    more_servers(cloud, 450)
    cloud.intercept = failing(SERVERS, UNAVAILABLE, after=2)
    found = everything("admin")
    assert len(found.servers) == 400
    assert found.errors == [
        f"compute: GET {cloud.url}{SERVERS}: 503 (request req-1): upstream is down; the service is "
        "not available: try again later; tried 4 times"
    ]
    assert {image.servers for image in found.images} == {None}  # nobody could count them all
    assert found.notes[0] == "Nova 34 (its API goes to 2.104)"


def test_a_cloud_without_images_to_see(cloud: FakeCloud) -> None:
    cloud.catalog.remove("image")
    found = everything("admin")
    assert found.images == []
    assert found.errors == [
        "the image service cannot be reached: public endpoint for image service in RegionOne "
        "region not found: check region_name, interface and the catalogue"
    ]
    assert (found.config("old").image, found.config("old").image_state) == (None, "unseen")


def test_a_cloud_without_nova(cloud: FakeCloud) -> None:
    cloud.catalog.remove("compute")
    with pytest.raises(TargetError, match=r"^openstack:admin: the compute service cannot be reach"):
        next(read("admin", deadline=30).items)


def test_an_image_that_was_deleted_and_one_that_is_not_shown(cloud: FakeCloud) -> None:
    for user in cloud.users.values():
        user.images = [each for each in user.images if each["name"] != "legacy"]
    assert everything("admin").config("old").image_state == "gone"
    assert everything("demo").config("tenant").image_state == "unseen"


def test_a_server_on_a_volume(cloud: FakeCloud) -> None:
    [server] = [each for each in cloud.admin.servers if each["name"] == "old"]
    server["image"] = ""
    server["os-extended-volumes:volumes_attached"] = [{"id": str(uuid4())}]
    found = everything("admin")
    config = found.config("old")
    assert (config.image_state, config.stored_properties, config.properties_source) == (
        "volume",
        (),
        "unseen",
    )
    assert found.servers["old"].nics[0].declared.model is None
    assert found.reference("old").volumes == 1


def test_one_that_cannot_be_understood_costs_that_one(cloud: FakeCloud) -> None:
    for server in cloud.admin.servers:
        if server["name"] == "old":
            server["flavor"] = "m1"
    cloud.admin.ports[0]["mac_address"] = 7
    cloud.admin.flavors[0]["vcpus"] = "two"
    found = everything("admin")
    assert "old" not in found.servers
    assert len(found.servers) == 7
    assert [error.split(" cannot be understood: ")[0] for error in found.errors] == [
        f"ports: {cloud.admin.ports[0]['id']}",
        f"flavors: {cloud.admin.flavors[0]['id']}",
        "servers: 89ec0f0b-f6ec-4a08-b51f-adbdc8a1ff32",
    ]


def test_other_hypervisors_are_not_judged(cloud: FakeCloud) -> None:
    cloud.admin.hypervisors[0]["hypervisor_type"] = "VMware vCenter Server"
    found = everything("admin")
    assert found.servers["old"].unjudged == (
        "a server that QEMU runs (its hypervisor is vmware vcenter server)"
    )
    assert found.servers["old"].qemu_version is None
    assert found.servers["rd-two"].unjudged == ""  # on no host now, and made by libvirt's driver


@pytest.mark.parametrize("path", [SERVERS, PORTS, "/image/v2/images"])
def test_no_message_has_a_secret_in_it(cloud: FakeCloud, path: str) -> None:
    cloud.intercept = failing(path, recorded_error("bad-token"))
    found = everything("admin")
    [error] = found.errors
    assert ": 401 (request req-55d45ba8-f4b6-49cf-ab70-55b0fe9de1db): The request you" in error
    assert PASSWORD not in error
    assert "token-of-admin" not in error


def test_a_nova_that_does_not_say_what_it_keeps(cloud: FakeCloud) -> None:
    cloud.highest = "2.87"
    cloud.admin.servers = load("admin/servers-2.47")
    found = everything("admin")
    assert found.config("old").nova == NovaVersions("2.87", 21, 22)
    microversions = {asked.path: asked.microversion for asked in cloud.asked}
    assert microversions[SERVERS] == "2.69"
    known = {name: found.config(name).properties_source for name in ("old", "b", "rd-none")}
    # the image legacy was changed after old was made; plain too, but before rd-none was
    assert known == {"old": "unseen", "b": "unseen", "rd-none": "image"}
    assert found.config("rd-none").stored_properties == (
        ("os_command_line", "console=ttyS0 quiet"),
    )
    assert found.servers["old"].nics[0].declared.model is None
    assert found.servers["old"].declared.vcpus == 1
    assert found.notes[1] == (
        "this Nova does not report which image properties it keeps for a server (2.98 "
        "does, Nova 31): those of the image are used if it has not changed since, "
        "otherwise they are unknown"
    )


def test_a_nova_of_long_ago(cloud: FakeCloud) -> None:
    cloud.highest = "2.1"
    cloud.admin.servers = load("admin/servers-2.1")
    for flavor in cloud.admin.flavors:
        del flavor["extra_specs"]
    found = everything("admin")
    assert found.config("old").flavor is None
    assert found.servers["old"].declared.vcpus is None
    by_name = {flavor.name: flavor for flavor in found.flavors}
    assert (by_name["m1"].servers, by_name["m1"].complete) == (5, False)


@pytest.mark.parametrize(
    "damaged", [{"id": "no id"}, {"status": "UNKNOWN"}, {"status": 7}], ids=["id", "cell", "form"]
)
def test_images_are_not_counted_where_a_server_was_not_read(
    cloud: FakeCloud, damaged: dict[str, object]
) -> None:
    assert all(image.servers is not None for image in everything("admin").images)
    cloud.admin.servers[0].update(damaged)
    found = everything("admin")
    assert {image.servers for image in found.images} == {None}
    assert {flavor.servers for flavor in found.flavors} == {None}


def test_trunks_and_ports_of_nobody(cloud: FakeCloud) -> None:
    port = next(each for each in cloud.admin.ports if each["device_id"])
    for owner in ("trunk:subport", "network:dhcp", "", None):
        again = {**copy.deepcopy(port), "id": str(uuid4()), "device_owner": owner}
        cloud.admin.ports.append(again)
    found = everything("admin")
    [server] = [each for each in found.servers.values() if each.uuid == port["device_id"]]
    assert [nic.source for nic in server.nics] == [port["id"]]


@pytest.mark.usefixtures("cloud")
def test_what_is_not_walked_to_its_end_has_no_notes() -> None:
    reading = read("admin", deadline=30)
    next(reading.items)
    assert reading.notes == ()
    reading.items.close()  # type: ignore[attr-defined]
