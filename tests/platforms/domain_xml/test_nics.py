"""``<interface>`` and ``<hostdev>``: who a NIC is, what is set, and where it says so."""

import msgspec
import pytest

from tests.rows import rows, rows_of_tuples
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.nics import FIELDS
from vnicaudit.platforms.domain_xml.read import read_bytes


def nics(devices: str) -> tuple[Nic, ...]:
    text = f"<domain type='kvm'>\n<name>d</name>\n<devices>\n{devices}\n</devices></domain>"
    (domain,) = read_bytes(text.encode(), target="t", file="d.xml")
    return domain.nics


def nic(children: str, kind: str = "bridge") -> Nic:
    (found,) = nics(f"<interface type='{kind}'>{children}</interface>")
    return found


def test_every_row_of_the_table_is_read() -> None:
    for field in FIELDS:
        text = {"count": "7", "bus": "0x07"}.get(field.kind, "virtio")
        found = nic(f"<{field.path} {field.attribute}='{text}'/>")
        expected = 7 if field.kind in ("count", "bus") else text
        assert getattr(found.declared, field.name) == expected, field


def test_identity_and_places() -> None:
    found = nic(
        "\n<mac address=' 52:54:00:AA:BB:01 '/>\n<source bridge='br0'/>\n<target dev='vnet0'/>"
        "<alias name='net0'/>\n<model type='VirtIO'/>"
    )
    assert (found.index, found.mac, found.source, found.target_dev, found.alias) == (
        0, "52:54:00:aa:bb:01", "br0", "vnet0", "net0",
    )  # fmt: skip
    assert found.declared.model == "virtio"
    assert (found.location.file, found.location.line) == ("d.xml", 4)
    assert found.location.xpath == "/domain/devices/interface[1]"
    assert found.lines == (("mac", 5), ("source", 6), ("target", 7), ("alias", 7), ("model", 8))


def test_the_first_of_duplicates_wins() -> None:
    found = nic(
        "<model type='virtio'/><driver queues='2'/><model type='e1000'/><driver queues='8'/>"
        "<mac address='52:54:00:00:00:01'/><mac address='52:54:00:00:00:02'/>"
    )
    assert (found.declared.model, found.declared.queues) == ("virtio", 2)
    assert found.mac == "52:54:00:00:00:01"


@pytest.mark.parametrize("text", ["", "unknown", "Unknown"])
def test_a_model_that_is_none(text: str) -> None:
    assert nic(f"<model type='{text}'/>").declared.model is None


@rows_of_tuples
def test_numbers_libvirt_would_refuse(children: str, invalid: tuple[tuple[str, str], ...]) -> None:
    found = nic(children)
    assert found.declared.invalid == invalid
    assert all(getattr(found.declared, name) is None for name, _text in invalid)
    msgspec.msgpack.encode(found)  # what goes from process to process has 64 bits


def test_a_long_word_is_cut_and_a_long_path_is_not() -> None:
    long = "x" * 5000
    found = nic(
        f"<model type='{long}'/><driver name='{long}' queues='{long}'/><backend vhost='/{long}'/>",
        kind=long,
    )
    cut = "x" * 200 + "…"
    assert (found.declared.type, found.declared.actual_type) == (cut, cut)
    assert (found.declared.model, found.declared.driver_name) == (cut, cut)
    assert found.declared.invalid == (("queues", cut),)
    assert found.declared.backend_vhost == f"/{long}"


@rows
def test_where_it_sits(address: str, expected: str | None) -> None:
    assert nic(f"<address {address}/>").address == expected
    assert nic("<model type='virtio'/>").address is None


def test_offloads_that_are_off() -> None:
    found = nic(
        "<driver><host csum='off' tso4='on' gso='off'/><guest tso6='off'/>"
        "<host ufo='off'/></driver>"
    )
    assert found.declared.guest_off == ("tso6",)
    assert found.declared.host_off == ("csum", "gso")


@rows
def test_whose_vhost_user_socket_it_is(source: str, ovs: bool) -> None:
    found = nic(source, "vhostuser")
    assert (found.declared.ovs_socket, found.declared.source_mode) == (ovs, "server")
    assert found.source is not None
    assert found.declared.reconnect is None


def test_a_vhost_user_client_that_reconnects() -> None:
    found = nic(
        "<source type='unix' path='/tmp/a' mode='client'>"
        "<reconnect enabled='yes' timeout='5'/></source>",
        "vhostuser",
    )
    assert (found.declared.reconnect, found.declared.source_mode) == ("yes", "client")


def test_a_vdpa_device_is_part_of_what_is_set() -> None:
    assert nic("<source dev='/dev/vhost-vdpa-0'/>", "vdpa").declared.device == "/dev/vhost-vdpa-0"


@rows
def test_an_assigned_device(address: str, source: str | None) -> None:
    (found,) = nics(
        f"<hostdev mode='subsystem' type='pci' managed='yes'><source>{address}</source></hostdev>"
    )
    assert (found.declared.type, found.declared.origin) == ("hostdev", "hostdev")
    assert (found.source, found.declared.teaming) == (source, None)
    assert found.location.xpath == "/domain/devices/hostdev[1]"


@rows
def test_what_an_interface_is_connected_to(kind: str, inside: str, source: str | None) -> None:
    assert nic(f"<source{inside}</source>", kind).source == source


def test_an_assigned_device_that_takes_part_in_teaming() -> None:
    """The form of libvirt's formatdomain page: the persistent half is an interface."""
    persistent, transient = nics(
        "<interface type='network'><alias name='ua-backup0'/><teaming type='persistent'/>"
        "</interface>"
        "<hostdev mode='subsystem' type='pci'><source><address bus='1'/></source>"
        "<teaming type='transient' persistent='ua-backup0'/></hostdev>"
    )
    assert (persistent.declared.teaming, persistent.declared.origin) == ("persistent", "interface")
    assert (transient.declared.teaming, transient.declared.origin) == ("transient", "hostdev")
    assert [persistent.index, transient.index] == [0, 1]


def test_host_devices_that_are_no_nics() -> None:
    assert (
        nics(
            "<hostdev mode='subsystem' type='usb'/><hostdev mode='subsystem' type='mdev'/>"
            "<hostdev mode='subsystem' type='pci'><address type='unassigned'/></hostdev>"
        )
        == ()
    )


def test_places_count_elements_of_one_name() -> None:
    found = nics(
        "<hostdev type='usb'/><interface type='user'/><hostdev type='pci'/>\n"
        "<interface type='user'/>"
    )
    assert [(nic.index, nic.location.xpath, nic.location.line) for nic in found] == [
        (0, "/domain/devices/interface[1]", 4),
        (1, "/domain/devices/hostdev[2]", 4),
        (2, "/domain/devices/interface[2]", 5),
    ]
