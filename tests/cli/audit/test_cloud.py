"""``openstack:CLOUD`` as a target of audit, nics and explain, over a cloud without its API."""

import csv
import io
import json
import sys
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    MAC,
    TARGET,
    UUID,
    FakeCloud,
    flavor,
    image,
    port,
    server,
)
from tests.cli.inside import inside as anywhere
from vnicaudit.errors import TargetError
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import ReadError

CLOUD = FakeCloud()
inside = partial(anywhere, wiring=CLOUD.wiring)
IMAGE_ID = "image-legacy"
NOTE = "as this user sees it: 1 project; hosts are told to admins only"


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCloud:
    monkeypatch.chdir(tmp_path)
    fake = CLOUD.clear()
    fake.clouds["prod"] = [
        server(1, port("rtl8139"), host=None),
        server(2),
        image("legacy", hw_vif_model="rtl8139"),
        flavor(),
    ]
    fake.notes = (NOTE,)
    fake.calls = {"identity": 1, "compute": 1005, "network": 4}
    return fake


class TestAudit:
    def test_what_is_found(self) -> None:
        result = inside("audit", TARGET, "--select", "VNIC001,VNIC062")
        assert result.returncode == 1
        assert result.stderr == ""
        assert result.stdout.startswith(
            "1 of 2 NICs is slow, 1 unknown. "
            "2 problems in 1 of 2 guests and 1 image (1 high, 1 low)\n"
            f"1 is safe to fix: vnicaudit plan {TARGET} -o plan.json\n\n"
            f"web-1  nova, 1 NIC, {UUID.format(1)}\n"
            f"  high    VNIC001  NIC 0 {MAC.format(16)}  openstack:prod\n"
        )
        assert f"\nlegacy  nova, image, {IMAGE_ID}\n" in result.stdout
        assert f"\nNotes\n  openstack:prod: {NOTE}\n" in result.stdout
        assert "API call" not in result.stdout

    def test_the_plan_is_of_the_chosen_guests(self) -> None:
        result = inside("audit", TARGET, "--domain", "web-1", "--select", "VNIC001")
        assert f"safe to fix: vnicaudit plan {TARGET} --domain web-1 -o plan.json" in result.stdout

    def test_images_of_one_name_are_told_apart(self, cloud: FakeCloud) -> None:
        (first,) = (one for one in cloud.clouds["prod"] if isinstance(one, Image))
        cloud.clouds["prod"] = [*cloud.clouds["prod"], replace(first, id="another-id")]
        result = inside("audit", TARGET, "--select", "VNIC062", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert [(row["domain"], row["uuid"]) for row in rows] == [
            ("legacy", IMAGE_ID), ("legacy", "another-id"),
        ]  # fmt: skip

    def test_the_number_of_calls_is_told_with_v(self) -> None:
        result = inside("audit", TARGET, "--select", "VNIC001", "-v")
        words = " ".join(result.stdout.split())
        assert "openstack:prod: 1,010 API calls (compute 1,005, network 4, identity 1)" in words

    def test_quiet_says_none_of_it(self) -> None:
        result = inside("audit", TARGET, "--select", "VNIC001", "-q")
        assert "Notes" not in result.stdout

    def test_json_has_both(self) -> None:
        result = inside("audit", TARGET, "--format", "json", "--select", "VNIC001")
        (target,) = json.loads(result.stdout)["targets"]
        assert target["notes"] == [NOTE]
        assert target["calls"] == {"identity": 1, "compute": 1005, "network": 4}

    @pytest.mark.parametrize(
        "name",
        ["csv", "github", "gitlab", "junit", "markdown", "prometheus", "sarif"],
    )
    def test_every_format_can_write_it(self, name: str) -> None:
        result = inside("audit", TARGET, "--format", name, "--select", "VNIC001")
        assert (result.returncode, result.stderr) == (1, "")
        assert "VNIC001" in result.stdout
        assert (NOTE in result.stdout) == (name == "markdown")

    def test_level(self) -> None:
        chosen = ("--select", "VNIC001", "--level")
        assert inside("audit", TARGET, *chosen, "error").returncode == 0
        assert inside("audit", TARGET, *chosen, "high").returncode == 1

    def test_a_cloud_that_cannot_be_reached_is_4(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = []
        cloud.failure = TargetError("cannot log in: Keystone refuses this user", file=TARGET)
        result = inside("audit", TARGET)
        assert result.returncode == 4
        assert "openstack:prod: cannot log in: Keystone refuses this user" in result.stdout

    def test_one_odd_server_is_4_and_the_rest_is_told(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [*cloud.clouds["prod"], ReadError("server x: no id", TARGET)]
        result = inside("audit", TARGET, "--select", "VNIC001")
        assert result.returncode == 4
        assert "VNIC001" in result.stdout

    def test_without_a_name_it_is_2(self) -> None:
        result = inside("audit", "openstack:")
        assert result.returncode == 2
        assert "write openstack:NAME with a name from clouds.yaml" in result.stderr

    def test_without_openstacksdk_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "vnicaudit.platforms.openstack.session", raising=False)
        monkeypatch.setitem(sys.modules, "openstack.config", None)
        result = anywhere("audit", TARGET)
        assert result.returncode == 2
        assert "pip install '.[openstack]'" in result.stderr

    @pytest.mark.parametrize("option", ["--fix", "--diff"])
    def test_nothing_is_fixed_in_a_cloud(self, option: str) -> None:
        result = inside("audit", TARGET, option)
        assert result.returncode == 2
        assert "--fix and --diff work on files only" in result.stderr

    def test_what_is_accepted_by_project(self, tmp_path: Path) -> None:
        (tmp_path / "vnicaudit.toml").write_text(
            '[[suppress]]\nrule = "VNIC001"\nproject = "project-1"\nreason = "appliances"\n'
        )
        result = inside("audit", TARGET, "--select", "VNIC001")
        assert result.returncode == 0
        assert "1 finding suppressed" in result.stdout

    def test_a_baseline_of_a_cloud(self, tmp_path: Path) -> None:
        known = tmp_path / "known.json"
        inside("audit", TARGET, "--write-baseline", known)
        result = inside("audit", TARGET, "--select", "VNIC001", "--baseline", known)
        assert result.returncode == 0
        assert "1 finding known from the baseline" in result.stdout


class TestNics:
    def test_the_table(self) -> None:
        result = inside("nics", TARGET)
        assert result.returncode == 0
        assert "web-1  nova, kvm or qemu, 1 vCPU, ACTIVE\n" in result.stdout
        assert "web-2  nova, kvm or qemu, 1 vCPU, ACTIVE, on cmp1\n" in result.stdout
        assert result.stderr == f"Note: openstack:prod: {NOTE}\n"

    def test_quiet_and_verbose(self) -> None:
        assert inside("nics", TARGET, "-q").stderr == ""
        assert inside("nics", TARGET, "-v").stderr == (
            f"Note: openstack:prod: {NOTE}\n"
            "Note: openstack:prod: 1,010 API calls (compute 1,005, network 4, identity 1)\n"
        )

    def test_json(self) -> None:
        result = inside("nics", TARGET, "--format", "json", "-q")
        first, second = json.loads(result.stdout)["nics"]
        assert (first["domain"], first["uuid"], first["owner"]) == ("web-1", UUID.format(1), "nova")
        assert first["model"]["effective"] == "rtl8139"
        assert second["location"]["xpath"] == f"servers/{UUID.format(2)}/ports/port-2-0"

    def test_one_that_cannot_be_reached_is_4(self, cloud: FakeCloud) -> None:
        cloud.failure = TargetError("no answer within 30 s", file=TARGET)
        result = inside("nics", TARGET, "-q")
        assert (result.returncode, result.stderr) == (
            4, "Error: openstack:prod: no answer within 30 s\n",
        )  # fmt: skip


class TestExplain:
    def test_the_layers(self, tmp_path: Path) -> None:
        folder = tmp_path / "nodes/cmp1"
        folder.mkdir(parents=True)
        (folder / "nova.conf").write_text("[libvirt]\nrx_queue_size = 1024\n")
        result = inside("explain", TARGET, "nodes/cmp1/nova.conf", "--nic", MAC.format(32))
        assert result.returncode == 0
        text = " ".join(result.stdout.split())
        for words in (
            "Flavor m1.small openstack:prod",
            "Image jammy openstack:prod",
            "nova.conf of cmp1 nodes/cmp1/nova.conf",
            "rx_queue_size 1024 ← wins",
            "What Nova keeps openstack:prod",
            "hw_vif_model virtio ← wins",
            "libvirt definition not known: add its host as a target: qemu+ssh://cmp1/system",
            "rx 1024 rx_queue_size in nova.conf of its host",
        ):
            assert words in text

    def test_a_nova_conf_of_another_name(self, tmp_path: Path) -> None:
        (tmp_path / "nova.conf").write_text(
            "[DEFAULT]\nhost=cmp1.example\n[libvirt]\nvirt_type=kvm\n"
        )
        result = inside("explain", TARGET, "nova.conf", "--nic", MAC.format(32))
        text = " ".join(result.stdout.split())
        assert (
            "nova.conf of cmp1 not known: nova.conf of cmp1.example is not for this host (cmp1)"
            in text
        )
        header = result.stdout.splitlines()[1]
        assert header == f"  server web-2  {UUID.format(2)}  project project-1  host cmp1"

    def test_a_server_without_nics(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [replace(server(1), nics=()), server(2)]
        result = inside("explain", TARGET, "--domain", "web-1", "--nic", "0")
        assert (result.returncode, result.stdout) == (4, "")
        assert f"'web-1' ({UUID.format(1)}) has no NIC" in result.stderr

    def test_by_the_name_of_the_server(self) -> None:
        result = inside("explain", TARGET, "--domain", "web-1", "--nic", "0", "--format", "json")
        explained = json.loads(result.stdout)
        assert explained["nic"]["mac"] == MAC.format(16)
        assert [layer["name"] for layer in explained["layers"]][:2] == [
            "Flavor m1.small", "Image jammy",
        ]  # fmt: skip
        assert [finding["rule"] for finding in explained["findings"]][:1] == ["VNIC001"]
