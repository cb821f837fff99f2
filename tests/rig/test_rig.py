"""The rig's own checks: its guests are what the tests that use them take them for."""

import json
from pathlib import Path

import pytest

from tests.rig.domain_xml import Nic
from tests.rig.errors import RigError
from tests.rig.guests import Guest, GuestFactory
from tests.rig.l1 import L1

pytestmark = pytest.mark.rig


def bound_driver(guest: Guest, device: str = "eth0") -> str:
    """Name of the driver that serves a network device of the guest."""
    link = guest.run(["readlink", f"/sys/class/net/{device}/device/driver"]).output()
    return Path(link.strip()).name


@pytest.mark.parametrize(
    ("model", "machine", "driver"),
    [("rtl8139", "pc", "8139cp"), ("virtio", "pc", "virtio_net"), ("virtio", "q35", "virtio_net")],
)
def test_x86_guest_drives_its_nic(
    x86_guest: GuestFactory, model: str, machine: str, driver: str
) -> None:
    with x86_guest(Nic(model, mac="52:54:00:ab:00:01"), machine=machine) as guest:
        assert bound_driver(guest) == driver
        address = guest.run(["cat", "/sys/class/net/eth0/address"]).output()
        assert address.strip() == "52:54:00:ab:00:01"
        assert guest.run(["uname", "-m"]).output().strip() == "x86_64"


def test_program_in_l1_is_reported_whole(l1: L1) -> None:
    ran = l1.run(["sh", "-c", "echo said; echo wrong >&2; exit 3"])
    assert (ran.exit_code, ran.stdout, ran.stderr) == (3, "said\n", "wrong\n")
    with pytest.raises(RigError, match="exit code 3: wrong"):
        ran.output()


def test_program_in_l1_has_a_deadline(l1: L1) -> None:
    with pytest.raises(RigError, match="sleep 600: no end after 1 s in the guest"):
        l1.run(["sleep", "600"], timeout=1)
    assert l1.run(["busybox", "pidof", "sleep"]).stdout == ""


def test_s390x_guest_drives_its_nic(s390x_guest: GuestFactory) -> None:
    with s390x_guest(Nic("virtio")) as guest:
        assert guest.agent.call("guest-get-osinfo")["machine"] == "s390x"
        assert bound_driver(guest) == "virtio_net"


def test_s390x_has_no_e1000(s390x_guest: GuestFactory) -> None:
    with s390x_guest(Nic("e1000"), boot=False) as guest:
        assert "<model type='e1000'/>" in guest.xml()
        with pytest.raises(RigError, match="'e1000' is not a valid device model name"):
            guest.start()


@pytest.mark.parametrize(
    ("name", "says_vhost", "vhost_queues"),
    [
        ("vnicaudit-kvm-default", False, 1),
        ("vnicaudit-kvm-qemu", False, 0),
        ("vnicaudit-tcg-vhost", True, 0),
        ("vnicaudit-kvm-queues", True, 2),
    ],
)
def test_vhost_in_l1(l1: L1, name: str, *, says_vhost: bool, vhost_queues: int) -> None:
    virsh = ["virsh", "--connect", "qemu:///system"]
    assert l1.run([*virsh, "domstate", name]).output().strip() == "running"
    assert ("<driver name='vhost'" in l1.run([*virsh, "dumpxml", name]).output()) is says_vhost

    facts = l1.vhost_facts(name)
    assert facts.netdev["type"] == "tap"
    assert facts.netdev.get("vhost", False) is (vhost_queues > 0)
    assert facts.vhost_files == vhost_queues
    assert facts.vhost_threads == (f"vhost-{facts.pid}",) * vhost_queues


def test_l1_is_handed_directories(l1: L1, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for text in ("first", "second"):
        (tmp_path / "package/module.py").write_text(f"print('{text}')\n")
        l1.put(tmp_path, "/srv/handed")
        assert l1.run(["python3", "/srv/handed/package/module.py"]).output() == f"{text}\n"


def test_l1_has_what_the_product_imports(l1: L1) -> None:
    names = ["click", "libvirt", "lxml.etree", "msgspec", "oslo_config", "rich", "ruamel.yaml"]
    program = f"import {', '.join(names)}, json, sys; print(json.dumps(sys.version_info[:2]))"
    assert json.loads(l1.run(["python3", "-c", program]).output()) >= [3, 10]
