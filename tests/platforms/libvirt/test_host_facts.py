"""The host of a libvirt, visited beside it."""

import getpass
import os
import sys
from pathlib import Path

import libvirt
import pytest

from tests.bench.endpoints.private_sshd import private_sshd
from tests.platforms.libvirt.private_daemon import PrivateDaemon
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.live import read_live, ssh_url

FACTS = LiveOptions(host_facts=True)
NETCAT = f"""#!{sys.executable}
import os, select, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[-1])
ends = {{0: there.fileno(), there.fileno(): 1}}
while True:
    for one in select.select(list(ends), [], [])[0]:
        data = os.read(one, 65536)
        if not data:
            sys.exit()
        os.write(ends[one], data)
"""
"""libvirt starts it at the other end of ssh, with the options of netcat and a socket."""
GUEST = """
<domain type='qemu'>
  <name>web</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='user'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>
  </devices>
</domain>
"""


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("qemu+ssh://root@kvm1/system", "ssh://root@kvm1"),
        ("qemu+ssh://kvm1:2222/system?no_tty=1&socket=/run/x", "ssh://kvm1:2222"),
        (
            "qemu+libssh2://[2001:db8::1]/system?keyfile=/k%20y&known_hosts=/h&no_verify=1",
            "ssh://[2001:db8::1]?ssh_identity_file=/k%20y&known_hosts=/h",
        ),
    ],
)
def test_the_way_to_the_host_of_a_uri(uri: str, url: str) -> None:
    assert ssh_url(uri) == url


def test_a_host_that_is_not_reached_over_ssh_is_told() -> None:
    error, host, *_domains = read_live("test:///default", FACTS)
    assert isinstance(error, ReadError)
    assert error.message.startswith("the host's facts were not read: its URI does not go over ssh")
    assert isinstance(host, Host)


def test_a_libvirt_over_ssh_and_its_host(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect, tmp_path: Path
) -> None:
    hypervisor_connection.createXML(GUEST)
    netcat = tmp_path / "nc"
    netcat.write_text(NETCAT)
    netcat.chmod(0o755)
    with private_sshd(tmp_path) as sshd:
        uri = (
            f"qemu+ssh://{getpass.getuser()}@127.0.0.1:{sshd.port}/system?keyfile={tmp_path}/user"
            f"&known_hosts={tmp_path}/known&no_verify=1&{daemon.uri.partition('?')[2]}"
            f"&proxy=netcat&netcat={netcat}"
        )
        host, facts, guest = read_live(uri, FACTS)
    assert isinstance(host, Host)
    assert isinstance(facts, HostFacts)
    assert isinstance(guest, LiveDomain)
    assert host.declared.kernel == os.uname().release
    assert host.declared.libvirt_version is not None
    assert facts.cpus.online
    (nic,) = guest.domain.nics
    assert nic.running is not None
    assert nic.running.driver == "virtio-net-pci"
