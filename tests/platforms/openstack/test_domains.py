"""A server as a domain: what cannot be judged, what is absurd, what is the same for many."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.openstack.servers import (
    HOST,
    ID,
    IMAGE,
    MAC,
    around,
    declared,
    domain,
    image,
    port,
    raw,
)
from tests.platforms.openstack.test_guest import nodes
from tests.rows import rows
from vnicaudit.model.domain import Server
from vnicaudit.model.openstack import Flavor
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.images import Images, image_of, server_of
from vnicaudit.platforms.openstack.listing import decoded
from vnicaudit.platforms.openstack.network import PORTS, Ports, RawPort
from vnicaudit.platforms.openstack.servers import SERVERS, RawServer


def test_a_server_that_is_deleted_is_none() -> None:
    near = around(port())
    assert server_of(raw({}, status="DELETED"), near) is None
    assert near.ports.take(ID) == []  # and its ports are not kept


@pytest.mark.parametrize("identity", ["", "7", "../etc/passwd", f"{ID}\n", "x" * 10_000])
def test_an_id_that_is_none(identity: str) -> None:
    found = server_of(raw({}, id=identity), around())
    assert isinstance(found, ReadError)
    assert found.message.endswith("is not a server id")
    assert len(found.message) < 500


def test_a_server_without_a_name_has_its_id() -> None:
    assert domain(raw({}, name=None)).name == ID
    assert domain(raw({}, name="")).name == ID


def test_ids_are_in_lower_case_as_libvirt_has_them() -> None:
    found = domain(raw({}, id=ID.replace("1", "A")), around())
    assert found.uuid == ID.replace("1", "a")


@rows
def test_by_its_hypervisor(kind: str, needs: str) -> None:
    near = around(port(), nodes=nodes(kind=kind), image=image(disk_format="vmdk"))
    assert domain(raw({}, **HOST), near).unjudged == needs


def test_a_tenant_is_not_told_the_hypervisor() -> None:
    foreign = image(disk_format="vmdk", vmware_disktype="sparse")
    needs = (
        "its hypervisor, which only an admin can see: its image is for a hypervisor other than QEMU"
    )
    assert domain(raw({}), around(port(), image=foreign)).unjudged == needs
    # what only Nova's libvirt driver adds to what is kept
    assert domain(raw({"hw_machine_type": "pc"}), around(port(), image=foreign)).unjudged == ""
    assert domain(raw({}), around(port(), image=image(disk_format="qcow2"))).unjudged == ""
    assert domain(raw({}), around(port())).unjudged == ""


@rows
def test_by_its_ports(vnic: str, vif: str, needs: str) -> None:
    assert domain(raw({}), around(port(vnic=vnic, vif=vif))).unjudged == needs


def test_a_cell_that_is_down() -> None:
    # as GET /servers/detail of Nova 34 shows them: api/openstack/compute/views/servers.py
    text = {"id": ID, "status": "UNKNOWN", "tenant_id": "p", "created": "2026-11-22T03:18:06Z"}
    found = domain(SERVERS.decoder.decode(json.dumps(text)), around())
    assert found.unjudged == "an answer from its cell, which is down"
    assert (found.name, found.nics) == (ID, ())


def test_the_flavor_is_that_which_nova_keeps() -> None:
    near = around()
    now = Flavor("openstack:c", "m1", domain(raw({})).location, vcpus=8, id="f1")
    near.flavors.keep(now)
    config = declared(raw({}, specs={"hw:cpu_policy": "dedicated"}), near).server
    assert config is not None
    assert config.flavor is not None
    assert (config.flavor.name, config.flavor.vcpus, config.flavor.id) == ("m1", 2, None)
    assert config.flavor.certain_value("hw:cpu_policy") == "dedicated"
    same = declared(raw({}, vcpus=8), near).server
    assert same is not None
    assert same.flavor is not None
    assert (same.flavor.id, same.flavor.location.xpath) == ("f1", "flavors/f1")


def test_a_flavor_whose_extra_specs_may_not_be_seen() -> None:
    config = declared(raw({}, flavor={"original_name": "m1", "vcpus": 2})).server
    assert config is not None
    assert config.flavor is not None
    assert not config.flavor.complete


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)
PROPERTIES = st.dictionaries(
    st.sampled_from(["hw_vif_model", "hw_disk_bus", "os_type", "os_distro", "hw_machine_type",
                     "hw_mem_page_size", "hw_architecture", "hw_vif_multiqueue_enabled"]),
    st.text(max_size=12),
)  # fmt: skip


def names_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[str]:
    return st.sampled_from([field.encode_name for field in msgspec.structs.fields(kind)])


def fuzzed(kind: type[msgspec.Struct]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names_of(kind), ANYTHING, max_size=6)


@settings(deadline=None)
@given(fuzzed(RawServer), fuzzed(RawPort), fuzzed(RawServer), PROPERTIES)
def test_no_answer_brings_it_down(
    server: dict[str, Any], said: dict[str, Any], more: dict[str, Any], kept: dict[str, str]
) -> None:
    ports = [{"id": "p", "device_id": ID, "device_owner": "compute:nova", **said}]
    good = {"id": ID, "image": {"id": IMAGE, "properties": kept}}
    texts = [json.dumps(each).encode() for each in ({**good, **server}, server, {**more, "id": ID})]
    near = around(image=image(**kept))
    for text in (json.dumps(each).encode() for each in ports):
        for found in decoded([msgspec.Raw(text)], PORTS, "t").items:
            near.ports.add(found)
    page = decoded([msgspec.Raw(text) for text in texts], SERVERS, "openstack:c")
    assert len(page.items) + len(page.errors) == len(texts)
    for each in page.items:
        assert isinstance(server_of(each, near), Server | ReadError | None)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=9), ANYTHING, max_size=6), ANYTHING, ANYTHING)
def test_no_image_brings_it_down(raw_image: dict[str, Any], identity: Any, system: Any) -> None:
    found = image_of({**raw_image, "id": identity, "os_distro": system}, "t")
    assert (found is None) == (not isinstance(identity, str) or not identity
                               or raw_image.get("status") in ("deleted", "killed"))  # fmt: skip


def test_what_is_listed_and_no_server() -> None:
    ports, images = Ports(), Images("openstack:c")
    assert ports.take(ID) == []
    assert images.by_id == {}


def test_the_network_of_a_nic_is_named() -> None:
    addresses = {"private": [{"OS-EXT-IPS-MAC:mac_addr": MAC.upper()}]}
    (nic,) = domain(raw(addresses=addresses), around(port())).nics
    assert (nic.network, nic.source) == ("private", "p1")
