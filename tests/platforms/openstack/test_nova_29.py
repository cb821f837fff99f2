"""Answers of a real Nova 29.0.2, which does not say what it keeps for a server."""

from tests.platforms.openstack.cloud import FakeCloud, load
from tests.platforms.openstack.entering import read
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import NovaVersions, ServerConfig


def configs(cloud: FakeCloud) -> dict[str, ServerConfig]:
    """What is known of each server, by its name."""
    cloud.highest = "2.96"
    cloud.admin.servers = load("nova-29/servers-2.47")
    cloud.admin.images = load("nova-29/images")
    items = read("admin", deadline=30).items
    found = {item.name: item.declared.server for item in items if isinstance(item, Domain)}
    return {name: server for name, server in found.items() if name and server is not None}


def test_what_is_known_of_its_servers(cloud: FakeCloud) -> None:
    found = configs(cloud)
    assert {name: (one.properties_source, one.vif_model) for name, one in found.items()} == {
        "n29-k": ("image", "rtl8139"),
        "n29-c": ("image", None),
        "n29-a": ("unseen", None),  # its image was changed later
    }
    assert {one.nova for one in found.values()} == {NovaVersions("2.96", 29, 30)}
    assert {one.status for one in found.values()} == {"ACTIVE"}
    flavors = {
        name: one.flavor and (one.flavor.name, one.flavor.complete) for name, one in found.items()
    }
    assert flavors == {"n29-k": ("m1", True), "n29-c": ("m2", True), "n29-a": ("m1", True)}


def test_they_are_asked_for_with_a_microversion_that_it_has(cloud: FakeCloud) -> None:
    configs(cloud)
    asked = {one.microversion for one in cloud.asked if one.path.endswith("/servers/detail")}
    assert asked == {"2.69"}
