"""Which interface Nova writes for a port (``nova/virt/libvirt/vif.py`` of Nova 34.0.0)."""

from typing import Any

import pytest

from tests.platforms.openstack.servers import MAC, around, domain, nic, port, raw
from tests.rows import rows
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.platforms.openstack.network import RawDetails

E1000 = {"hw_vif_model": "e1000"}
VIRTIO = {"hw_vif_model": "virtio"}


@rows
def test_type_and_model(
    vnic: str | None, vif: str | None, details: dict[str, Any] | None, kind: str | None,
    model: str | None,
) -> None:  # fmt: skip
    said = None if details is None else RawDetails(**details)
    found = nic(raw(E1000), around(port(vnic=vnic, vif=vif, details=said)))
    assert (found.actual_type, found.model) == (kind, model)
    assert found.type == (kind or "network")


def test_an_assigned_device_and_one_in_an_interface() -> None:
    physical = nic(raw({}), around(port(vnic="direct-physical", vif="hostdev_physical")))
    virtual = nic(raw({}), around(port(vnic="direct", vif="hw_veb")))
    assert (physical.origin, virtual.origin) == ("hostdev", "interface")


def test_before_23_open_vswitch_is_a_bridge() -> None:
    old = around(port(), nova=NovaVersions("2.87", 21, 22))
    assert nic(raw(E1000), old).actual_type == "bridge"
    assert nic(raw(E1000), around(port(), nova=NovaVersions(""))).actual_type == "ethernet"


def test_a_socket_of_open_vswitch() -> None:
    details = RawDetails(vhostuser_mode="client", vhostuser_ovs_plug=True)
    found = nic(raw(VIRTIO), around(port(vif="vhostuser", details=details)))
    assert (found.source_mode, found.ovs_socket) == ("client", True)
    other = nic(raw(VIRTIO), around(port(vif="vhostuser", details=RawDetails())))
    assert (other.source_mode, other.ovs_socket) == ("server", False)
    unseen = nic(raw(VIRTIO), around(port(vnic="virtio-forwarder", vif=None)))
    assert unseen.source_mode is None


@rows
def test_mtu_where_nova_writes_it(vnic: str, vif: str, mtu: int | None) -> None:
    assert nic(raw(VIRTIO), around(port(vnic=vnic, vif=vif))).mtu == mtu


def test_a_network_of_which_nothing_is_known() -> None:
    assert nic(raw(VIRTIO), around(port(network="n2"))).mtu is None


@rows
def test_model_as_nova_reads_it(kept: dict[str, str], model: str | None) -> None:
    assert nic(raw(kept)).model == model


MULTIQUEUE = {"hw_vif_multiqueue_enabled": "true"}
SPEC = {"hw:vif_multiqueue_enabled": "true"}


@rows
def test_queues(
    kept: dict[str, str], specs: dict[str, str], vcpus: int | None, queues: int | None
) -> None:
    assert nic(raw(kept, specs=specs, vcpus=vcpus)).queues == queues


def test_a_flavor_could_not_ask_for_queues_before_25() -> None:
    for nova, queues in ((NovaVersions("2.88", 23, 23), None), (NovaVersions("2.90", 24, 25), None),
                         (NovaVersions("2.93", 26, 26), 2)):  # fmt: skip
        server = raw(VIRTIO, specs=SPEC)
        assert nic(server, around(port(), nova=nova)).queues == queues


@pytest.mark.parametrize("kind", ["hostdev", "vdpa", "ethernet"])
def test_packed_rings(kind: str) -> None:
    vnic = {"hostdev": "direct", "vdpa": "vdpa", "ethernet": "normal"}[kind]
    server = raw(E1000, specs={"hw:virtio_packed_ring": "yes"})
    packed = None if kind == "hostdev" else "on"
    assert nic(server, around(port(vnic=vnic))).packed == packed
    old = around(port(vnic=vnic), nova=NovaVersions("2.95", 27, 28))
    assert nic(server, old).packed is None


def test_packed_rings_that_flavor_and_image_disagree_on() -> None:
    server = raw({"hw_virtio_packed_ring": "false"}, specs={"hw:virtio_packed_ring": "true"})
    assert nic(server).packed is None


def addresses(*macs: str) -> dict[str, list[dict[str, str]]]:
    return {f"net-{mac}": [{"OS-EXT-IPS-MAC:mac_addr": mac}, {"addr": "::1"}] for mac in macs}


def test_order_is_that_of_the_addresses() -> None:
    macs = [f"fa:16:3e:00:00:0{number}" for number in (3, 1, 2)]
    ports = [port(id=f"p{mac[-1]}", mac=mac) for mac in sorted(macs)]
    ports.append(port(id="without an address", mac="fa:16:3e:00:00:09"))
    server = raw({}, addresses=addresses(*macs[:2]) | addresses(macs[2].upper()))
    found = domain(server, around(*reversed(ports)))
    assert [each.source for each in found.nics] == ["p3", "p1", "p2", "without an address"]
    assert [each.index for each in found.nics] == [0, 1, 2, 3]


def test_one_mac_on_two_networks_is_two_nics() -> None:
    found = domain(raw({}), around(port(id="p1"), port(id="p2", network="n2")))
    assert [(each.mac, each.source, each.declared.mtu) for each in found.nics] == [
        (MAC, "p1", 1450),
        (MAC, "p2", None),
    ]


def test_addresses_are_nics_only_where_not_all_ports_are_known() -> None:
    server = raw({}, addresses=addresses(MAC, "fa:16:3e:00:00:02"))
    whole = domain(server, around(port()))
    assert [each.source for each in whole.nics] == ["p1"]
    part = domain(server, around(port(), complete=False))
    assert [(each.mac, each.source) for each in part.nics] == [
        (MAC, "p1"),
        ("fa:16:3e:00:00:02", None),
    ]
    assert part.nics[1].declared.actual_type is None


def test_a_port_without_a_mac() -> None:
    found = domain(raw({}), around(port(mac=None)))
    assert [(each.mac, each.source) for each in found.nics] == [(None, "p1")]
