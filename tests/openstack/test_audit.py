"""What vnicaudit finds in a real cloud."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.openstack.cloud import Cloud
from tests.openstack.scale import many_servers
from tests.openstack.servers import Server, ServerFactory

pytestmark = pytest.mark.openstack

Images = Callable[..., str]

ADMIN, TENANT = "openstack:admin", "openstack:tenant"


def audit(cloud: Cloud, *targets: str, codes: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """The report, as JSON; the audit must end with one of these codes."""
    ran = cloud.vnicaudit("audit", *targets, "--format", "json")
    assert ran.returncode in codes, ran.stderr + ran.stdout
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["crashed"] == []
    return report


def found(report: dict[str, Any], server: Server) -> dict[str, str]:
    """Rule -> message, of one server; never one rule twice."""
    mine = [one for one in report["findings"] if one["nic"]["uuid"] == server.id]
    assert len({one["rule"] for one in mine}) == len(mine), mine
    return {one["rule"]: one["message"] for one in mine}


def test_an_emulated_nic_is_found_at_the_image_and_at_the_server(
    cloud: Cloud, server: ServerFactory, image: Images
) -> None:
    name = image(hw_vif_model="rtl8139")
    one = server(name)
    report = audit(cloud, ADMIN)
    assert found(report, one) == {
        "VNIC001": "rtl8139 is emulated packet by packet: no offload, no vhost"
    }
    messages = [each["message"] for each in report["findings"] if each["rule"] == "VNIC062"]
    assert any("1 server was made of it" in message for message in messages), messages


def test_it_is_found_once_with_libvirt_and_nova_conf_beside(
    cloud: Cloud, server: ServerFactory
) -> None:
    one = server("legacy")
    report = audit(cloud, ADMIN, "qemu:///system", "/etc/nova/nova.conf")
    assert set(found(report, one)) == {"VNIC001"}
    assert [target["status"] for target in report["targets"]] == ["ok", "ok", "ok"]


def test_the_os_distro_trap(cloud: Cloud, server: ServerFactory, image: Images) -> None:
    name = image(os_distro="ubuntu22.04")
    one = server(name)
    report = audit(cloud, ADMIN)
    assert set(found(report, one)) == {"VNIC003"}
    traps = [each["message"] for each in report["findings"] if each["rule"] == "VNIC063"]
    assert any("the first NIC it lists for this system, e1000e" in each for each in traps), traps


def test_virtio_off_in_nova_conf(cloud: Cloud, server: ServerFactory) -> None:
    with cloud.compute(use_virtio_for_bridges="false"):
        one = server("plain")
        report = audit(cloud, ADMIN, "qemu:///system", "/etc/nova/nova.conf")
        (option,) = [each for each in report["findings"] if each["rule"] == "VNIC060"]
        assert option["location"]["file"] == "/etc/nova/nova.conf"
        assert "VNIC001" in found(report, one)


def test_what_nova_keeps_and_has_not_written_yet(cloud: Cloud, server: ServerFactory) -> None:
    one = server("legacy")
    one.stop()
    set_ = cloud.nova_manage("image_property", "set", one.id, "--property", "hw_vif_model=virtio")
    assert set_.returncode == 0
    report = audit(cloud, ADMIN, "qemu:///system")
    assert {"VNIC064", "VNIC079"} <= set(found(report, one)), found(report, one)
    one.start()
    report = audit(cloud, ADMIN, "qemu:///system")
    assert "VNIC079" not in found(report, one)


def test_two_queues_and_their_layers(cloud: Cloud, server: ServerFactory, image: Images) -> None:
    one = server(image(hw_vif_multiqueue_enabled="true"), "m2")
    targets = (ADMIN, "qemu:///system", "/etc/nova/nova.conf")
    ran = cloud.vnicaudit("explain", *targets, "--domain", one.id, "--nic", "0", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    explained = json.loads(ran.stdout)
    assert explained["nic"]["queues"]["effective"] == 2
    assert explained["nic"]["rx_queue_size"]["declared"] == 1024
    names = " | ".join(layer["name"] for layer in explained["layers"])
    for layer in ("Flavor", "Image", "nova.conf", "Nova keeps", "efinition"):
        assert layer in names, names


def test_a_tenant_is_told_what_cannot_be_seen(cloud: Cloud, server: ServerFactory) -> None:
    one = server("legacy", wait=False)
    (target,) = audit(cloud, TENANT)["targets"]
    assert target["status"] == "ok"
    assert any("project" in note for note in target["notes"]), target["notes"]
    seen = json.loads(cloud.vnicaudit("nics", TENANT, "--format", "json").stdout)["nics"]
    assert one.id not in {nic["uuid"] for nic in seen}


def test_calls_grow_with_pages_and_not_with_servers(cloud: Cloud) -> None:
    calls = []
    for number in (600, 1000):
        with many_servers(cloud, number):
            report = audit(cloud, ADMIN)
            (target,) = report["targets"]
            assert target["status"] == "ok"
            assert target["domains"] >= number
            other = "a server that QEMU runs (its hypervisor is fake)"
            assert sum(one["needs"] == other for one in report["skipped"]) == number
            calls.append(target["calls"])
    few, many = (sum(each.values()) for each in calls)
    assert few < many <= few + 4, calls
    assert many < 40, calls


def test_the_gate(cloud: Cloud, server: ServerFactory) -> None:
    server("legacy")
    words = ("audit", ADMIN, "--select", "VNIC001,VNIC002", "--fail-on", "high")
    assert cloud.vnicaudit(*words).returncode == 1
    assert cloud.vnicaudit("audit", "openstack:nowhere").returncode == 4
