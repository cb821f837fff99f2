"""The testbed's own checks: its cloud is what the tests that use it take it for."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.openstack import namespaces
from tests.openstack.cloud import Cloud
from tests.openstack.scale import many_servers
from tests.openstack.servers import GuestNic, Server, ServerFactory
from tests.rig.process import wait_for

pytestmark = pytest.mark.openstack

Images = Callable[..., str]


def mac(server: Server) -> str:
    """The MAC address of its only NIC."""
    address = server.interface().find("mac")
    assert address is not None
    return str(address.get("address"))


def test_model_is_set_on_a_stopped_server(cloud: Cloud, server: ServerFactory) -> None:
    one = server("legacy")
    assert (one.model(), one.driver()) == ("rtl8139", {})
    address = mac(one)
    assert one.nics() == [GuestNic(address, "8139cp", 1)]

    words = ("image_property", "set", one.id, "--property", "hw_vif_model=virtio")
    refused = cloud.nova_manage(*words)
    assert (refused.returncode, "in vm_state active" in refused.stdout) == (3, True), refused
    one.stop()
    assert cloud.nova_manage(*words).returncode == 0
    one.start()
    assert (one.model(), one.driver()) == ("virtio", {"name": "vhost", "rx_queue_size": "1024"})
    assert one.nics() == [GuestNic(address, "virtio_net", 1)]


def test_two_queues_reach_the_guest(server: ServerFactory, image: Images) -> None:
    one = server(image(hw_vif_multiqueue_enabled="true"), "m2")
    assert one.driver() == {"name": "vhost", "queues": "2", "rx_queue_size": "1024"}
    assert one.nics() == [GuestNic(mac(one), "virtio_net", 2)]


def test_nova_takes_the_first_nic_of_libosinfo(server: ServerFactory, image: Images) -> None:
    one = server(image(os_distro="ubuntu22.04"))
    assert one.model() == "e1000e"
    assert one.nics() == [GuestNic(mac(one), "e1000e", 1)]


def test_tenant_has_a_project_of_its_own(cloud: Cloud, server: ServerFactory) -> None:
    server("still", wait=False)
    tenant = cloud.tenant()
    assert [network.name for network in tenant.network.networks()] == ["tenant-net"]
    assert not list(tenant.compute.servers())
    assert {image.name for image in tenant.image.images()} >= {"legacy", "plain"}


def test_product_runs_where_the_cloud_is(cloud: Cloud) -> None:
    assert cloud.vnicaudit("--version").stdout.startswith("vnicaudit")
    listed = cloud.run("openstack", "image", "list", "-f", "value", "-c", "Name").stdout.split()
    assert {"legacy", "plain"} <= set(listed)


def test_copied_servers_have_ports(cloud: Cloud) -> None:
    with many_servers(cloud, 40):
        servers = list(cloud.api.compute.servers(name="^scale-"))
        assert len(servers) == 40
        macs = {
            address["OS-EXT-IPS-MAC:mac_addr"]
            for record in servers
            for address in record.addresses["net"]
        }
        ports = {port.mac_address: port for port in cloud.api.network.ports()}
        assert len(macs) == 40
        assert {ports[one].device_id for one in macs} == {record.id for record in servers}
        assert {ports[one].binding_host_id for one in macs} == {"fake1"}
    assert not list(cloud.api.compute.servers(name="^scale-"))
    assert not macs & {port.mac_address for port in cloud.api.network.ports()}


def test_machine_itself_is_left_alone(tmp_path: Path) -> None:
    script = namespaces.DAEMON.with_name("private.sh")
    # in mounts of its own, should it not refuse
    command: list[str | Path] = ["unshare", "--mount", "bash", script, script.parent, tmp_path]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "not the namespaces of a testbed" in refused.stderr


def test_namespaces_end_with_all_that_runs_in_them() -> None:
    made = namespaces.make(keep=False)
    try:
        made.output("bash", namespaces.DAEMON, "/dev/null", "sleep", "613")
        wait_for(lambda: "613" in sleepers(), "it sleeps")
    finally:
        made.end()
    assert "613" not in sleepers()


def test_namespaces_end_with_the_session_that_is_killed() -> None:
    script = """
from tests.openstack import namespaces
made = namespaces.make(keep=False)
made.output("bash", namespaces.DAEMON, "/dev/null", "sleep", "614")
print(made.pid, flush=True)
input()
"""
    session = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with session:
        assert session.stdout is not None
        assert session.stdout.readline().strip().isdigit()
        wait_for(lambda: "614" in sleepers(), "it sleeps")
        os.kill(session.pid, signal.SIGKILL)
    wait_for(lambda: "614" not in sleepers(), "the namespaces have ended")


def sleepers() -> set[str]:
    """How long the `sleep`s on this machine sleep."""
    found = set()
    for path in (process / "cmdline" for process in Path("/proc").glob("[0-9]*")):
        try:
            program, _, seconds = path.read_text().partition("\0")
        except OSError:
            continue
        if program == "sleep":
            found.add(seconds.strip("\0"))
    return found
