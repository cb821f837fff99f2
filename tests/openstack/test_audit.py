"""What vnicaudit finds in a real cloud."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks, squeezed
from tests.openstack.cloud import Cloud
from tests.openstack.machine import CREDENTIALS
from tests.openstack.readers import READER, aggregate, application_credential, policies, user_with
from tests.openstack.scale import many_servers
from tests.openstack.servers import Server, ServerFactory

pytestmark = pytest.mark.openstack

Images = Callable[..., str]

ADMIN, TENANT = "openstack:admin", "openstack:tenant"
GATE = list(blocks((ROOT / "docs/how-to/openstack-gate.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def legacy(cloud: Cloud) -> Iterator[Server]:
    """A server with an rtl8139, for all that only look at it. No guest boots in this module: Nova
    and libvirt are looked at."""
    factory = ServerFactory(cloud)
    try:
        yield factory("still")
    finally:
        factory.remove()


def audit(cloud: Cloud, *targets: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report, as JSON, of targets that were read in full. A server of the test before that is
    half gone would be read in part."""
    cloud.wait_for_deletions()
    ran = cloud.vnicaudit("audit", *targets, "--format", "json", env=env)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["crashed"] == []
    return report


def found(report: dict[str, Any], server: Server) -> dict[str, str]:
    """Rule -> message, of one server; never one rule twice."""
    mine = [one for one in report["findings"] if one["about"]["id"] == server.id]
    assert len({one["rule"] for one in mine}) == len(mine), mine
    return {one["rule"]: one["message"] for one in mine}


def test_an_emulated_nic_is_found_at_the_image_and_at_the_server(
    cloud: Cloud, server: ServerFactory, image: Images
) -> None:
    name = image(boots=False, hw_vif_model="rtl8139")
    one = server(name)
    report = audit(cloud, ADMIN)
    assert set(found(report, one)) == {"VNIC001"}
    messages = [each["message"] for each in report["findings"] if each["rule"] == "VNIC062"]
    assert any("used by 1 server" in message for message in messages), messages


def test_it_is_found_once_with_libvirt_and_nova_conf_beside(cloud: Cloud, legacy: Server) -> None:
    report = audit(cloud, ADMIN, "qemu:///system", "/etc/nova/nova.conf")
    assert set(found(report, legacy)) == {"VNIC001"}
    assert [target["status"] for target in report["targets"]] == ["ok", "ok", "ok"]


def test_the_os_distro_trap(cloud: Cloud, server: ServerFactory, image: Images) -> None:
    name = image(boots=False, os_distro="ubuntu22.04")
    one = server(name)
    report = audit(cloud, ADMIN)
    assert set(found(report, one)) == {"VNIC003"}
    traps = [each["message"] for each in report["findings"] if each["rule"] == "VNIC063"]
    assert any("the first NIC it lists for this system, e1000e" in each for each in traps), traps


def test_the_option_changes_servers_that_were_made_without_it(
    cloud: Cloud, server: ServerFactory, image: Images
) -> None:
    """With virtio off in nova.conf Nova writes no model, and libvirt fills in what it takes for the
    default. Nova keeps NULL for such servers: with the option on, a hard reboot makes them virtio.
    """
    targets, text = (ADMIN, "qemu:///system", "/etc/nova/nova.conf"), cloud.nova_conf.read_text()
    with cloud.compute(use_virtio_for_bridges="false"):
        one = server(image(boots=False))
        assert one.model() == "rtl8139"
        report = audit(cloud, *targets)
        (option,) = [each for each in report["findings"] if each["rule"] == "VNIC060"]
        assert option["location"]["file"] == "/etc/nova/nova.conf"
        before = found(report, one)
        assert "VNIC001" in before
        assert "once use_virtio_for_bridges is turned on" in before["VNIC084"]
    assert cloud.nova_conf.read_text() == text
    rows = cloud.sql(
        "SELECT value FROM nova.instance_system_metadata WHERE `key` = "
        f"'image_hw_vif_model' AND instance_uuid = '{one.id}'"
    )
    assert rows == [["NULL"]]
    in_the_cloud = found(audit(cloud, ADMIN, "/etc/nova/nova.conf"), one)
    assert "unless it was started since" in in_the_cloud["VNIC084"], in_the_cloud
    joined = found(audit(cloud, *targets), one)
    assert "makes this NIC virtio, unasked; it is rtl8139" in joined["VNIC084"], joined
    ran = cloud.vnicaudit("explain", *targets, "--domain", one.id, "--nic", "0", "--format", "json")
    assert "the next hard reboot writes virtio" in ran.stdout
    one.hard_reboot()
    assert one.model() == "virtio"
    assert "VNIC084" not in found(audit(cloud, *targets), one)


def test_what_nova_keeps_and_has_not_written_yet(cloud: Cloud, server: ServerFactory) -> None:
    one = server("still")
    one.stop()
    set_ = cloud.nova_manage("image_property", "set", one.id, "--property", "hw_vif_model=virtio")
    assert set_.returncode == 0
    report = audit(cloud, ADMIN, "qemu:///system")
    assert {"VNIC064", "VNIC079"} <= set(found(report, one)), found(report, one)
    one.start()
    report = audit(cloud, ADMIN, "qemu:///system")
    assert "VNIC079" not in found(report, one)


def test_two_queues_and_their_layers(cloud: Cloud, server: ServerFactory, image: Images) -> None:
    one = server(image(boots=False, hw_vif_multiqueue_enabled="true"), "m2")
    targets = (ADMIN, "qemu:///system", "/etc/nova/nova.conf")
    ran = cloud.vnicaudit("explain", *targets, "--domain", one.id, "--nic", "0", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    explained = json.loads(ran.stdout)
    assert explained["nic"]["queues"]["effective"] == 2
    assert explained["nic"]["rx_queue_size"]["declared"] == 1024
    names = " | ".join(layer["name"] for layer in explained["layers"])
    for layer in ("Flavor", "Image", "nova.conf", "Nova keeps", "efinition"):
        assert layer in names, names


def test_a_tenant_is_told_what_cannot_be_seen(cloud: Cloud, legacy: Server) -> None:
    (target,) = audit(cloud, TENANT)["targets"]
    assert target["status"] == "ok"
    assert any("project" in note for note in target["notes"]), target["notes"]
    for name, sees in ((ADMIN, True), (TENANT, False)):
        said = json.loads(cloud.vnicaudit("nics", name, "--format", "json").stdout)
        assert (legacy.id in {nic["uuid"] for nic in said["nics"]}) == sees


def test_calls_grow_with_pages_and_not_with_servers(cloud: Cloud) -> None:
    """Four more pages of servers, one of ports."""
    with many_servers(cloud, 200) as make_more:
        few = calls_for(cloud, 200)
        make_more(800)
        many = calls_for(cloud, 1000)
    assert sum(few.values()) < sum(many.values()) <= sum(few.values()) + 6, (few, many)
    assert sum(many.values()) < 40, many


def calls_for(cloud: Cloud, number: int) -> dict[str, int]:
    """The API calls of an audit that finds that many copied servers, by service."""
    report = audit(cloud, ADMIN)
    (target,) = report["targets"]
    assert target["status"] == "ok"
    assert target["domains"] >= number
    other = "a server that QEMU runs (its hypervisor is fake)"
    assert sum(one["needs"] == other for one in report["skipped"]) == number
    found: dict[str, int] = target["calls"]
    return found


@pytest.mark.usefixtures("legacy")
def test_the_gate(cloud: Cloud) -> None:
    words = ("audit", ADMIN, "--select", "VNIC001,VNIC002", "--level")
    assert cloud.vnicaudit(*words, "high").returncode == 1
    assert cloud.vnicaudit(*words, "error").returncode == 0
    assert cloud.vnicaudit("audit", "openstack:nowhere").returncode == 4


def test_an_admin_held_to_access_rules_reads_all(
    cloud: Cloud, legacy: Server, tmp_path: Path
) -> None:
    """Those of the page; they allow nothing else."""
    (rules,) = [block.text for block in GATE if block.mark == "file: access-rules.json"]
    more = {"access_rules": json.loads(rules)}
    with application_credential(cloud, tmp_path, CREDENTIALS, ["admin"], **more) as reader:
        notes = sees_what_an_admin_sees(cloud, reader, legacy)
        assert [note for note in notes if not note.startswith("Nova ")] == []
        for words in (("image", "show", "still"), ("server", "stop", legacy.id)):
            refused = cloud.run("openstack", "--os-cloud", READER, *words, env=reader)
            assert "HTTP 401" in refused.stderr, refused


def test_a_role_with_the_policies_of_the_page_reads_other_projects(
    cloud: Cloud, legacy: Server, tmp_path: Path
) -> None:
    marked = [block for block in GATE if block.mark.startswith("policy: ")]
    texts = {block.mark.removeprefix("policy: "): block.text for block in marked}
    roles = ["reader", "auditor"]
    with (
        policies(cloud, texts),
        user_with(cloud, roles) as user,
        application_credential(cloud, tmp_path, user, roles) as auditor,
    ):
        notes = sees_what_an_admin_sees(cloud, auditor, legacy)
    (unnamed,) = [note for note in notes if not note.startswith("Nova ")]
    assert "shown by id: Keystone did not give the name (this user may not)" in unnamed


def sees_what_an_admin_sees(cloud: Cloud, reader: dict[str, str], one: Server) -> list[str]:
    """The audit's notes, for one who reads with a credential and is shown all of a server."""
    report = audit(cloud, f"openstack:{READER}", env=reader)
    assert set(found(report, one)) == {"VNIC001"}
    assert explained(cloud, f"openstack:{READER}", one, reader) == explained(cloud, ADMIN, one)
    (target,) = report["targets"]
    return list(target["notes"])


def explained(
    cloud: Cloud, target: str, server: Server, env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Its NIC, with every layer; not what its project is called, nor the target."""
    words = ("--domain", server.id, "--nic", "0", "--format", "json")
    ran = cloud.vnicaudit("explain", target, *words, env=env)
    assert ran.returncode == 0, ran.stderr
    # the commands that are told name the cloud as the user did
    named = re.sub(r"openstack --os-cloud \S+ ", "openstack ", ran.stdout)
    said: dict[str, Any] = json.loads(named.replace(target, "openstack:"))
    del said["server"]["project_name"]
    return said


def test_where_a_server_is_and_whose(cloud: Cloud, legacy: Server, tmp_path: Path) -> None:
    one = legacy
    with aggregate(cloud, "cmp1", rack="r1") as name:
        ran = cloud.vnicaudit("explain", ADMIN, "--domain", one.id, "--nic", "0")
    shown = squeezed(ran.stdout)
    assert "project admin host cmp1" in shown
    assert f"Host availability_zone nova aggregate {name} rack=r1" in shown

    words = ("plan", ADMIN, "--domain", one.id, "--include-unsafe", "--diff", "-o")
    planned = cloud.vnicaudit(*words, tmp_path / "plan.json")
    assert planned.returncode == 0, planned.stderr
    project = f"admin ({one.record.project_id})"
    assert f"project {project}" in squeezed(planned.stdout)
    (step,) = json.loads((tmp_path / "plan.json").read_text("utf-8"))["steps"]
    unit = step["unit"]
    assert (step["about"]["id"], unit["zone"], unit["project_name"]) == (one.id, "nova", "admin")
