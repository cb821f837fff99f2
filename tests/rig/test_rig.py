"""The rig's own checks: its guests are what the tests that use them take them for."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.rig.domain_xml import MAC, S390X_MAC, SHARED_MEMORY, Manners, Nic, Pieces
from tests.rig.errors import KernelPanicError, RigError
from tests.rig.guests import PANICKED, Guest, GuestFactory
from tests.rig.l1 import L1
from tests.rig.l2 import L2Factory
from tests.rig.process import PATIENCE, wait_for
from tests.rig.traffic import mbit_per_second
from tests.rig.vdpa import vdpa_device

pytestmark = pytest.mark.rig


@pytest.mark.parametrize(
    ("model", "machine", "driver", "ask"),
    [
        ("rtl8139", "pc", "8139cp", Guest.ask_agent_to_shut_down),
        ("e1000", "q35", "e1000", Guest.press_power_button),
        ("virtio", "pc", "virtio_net", Guest.press_power_button),
    ],
)
def test_x86_guest_drives_its_nic(
    x86_guest: GuestFactory, model: str, machine: str, driver: str, ask: Callable[[Guest], None]
) -> None:
    with x86_guest(Nic(model, mac=MAC), machine=machine) as guest:
        assert guest.run(["uname", "-m"]).output().strip() == "x86_64"
        assert guest.driver(MAC) == driver
        assert guest.addresses(MAC) == [f"{guest.address}/24"]
        guest.wait_for_dns()
        ask(guest)
        guest.wait_until_off()


def test_a_nic_is_swapped_under_a_running_guest(x86_guest: GuestFactory) -> None:
    with x86_guest(Nic("rtl8139", mac=MAC)) as guest, guest.dns_probe() as probe:
        guest.swap(Nic(mac=MAC))
        assert (guest.driver(MAC), guest.addresses(MAC)) == ("virtio_net", [])
        silent = probe.longest_gap
        guest.put_address_back(MAC)
        probe.wait_for_answer()
        assert probe.longest_gap > silent > 0.1
        assert mbit_per_second(guest) > 1
        assert mbit_per_second(guest, from_guest=True) > 1


def test_guest_may_lack_a_driver_and_be_deaf(x86_guest: GuestFactory) -> None:
    manners = Manners(without=("virtio_net",), deaf=True)
    with x86_guest(Nic(mac=MAC), manners=manners, once=True) as guest:
        guest.run(["modprobe", "virtio_net"])
        assert guest.driver(MAC) is None
        assert not guest.answers_dns()
        # qemu-ga runs this when it is asked; nobody reads the power button.
        guest.run(["/sbin/shutdown", "-P", "+0", "test"]).output()
        assert guest.run(["pidof", "dd"]).stdout == ""


def test_a_kernel_that_stops_is_noticed_and_the_guest_can_be_started_again(
    x86_guest: GuestFactory,
) -> None:
    with x86_guest(Nic("rtl8139", mac=MAC)) as guest:
        crash = ["-c", "echo c >/proc/sysrq-trigger"]
        with suppress(RigError):  # the agent may go down before it answers
            guest.agent.call("guest-exec", path="sh", arg=crash, seconds=5)
        wait_for(lambda: PANICKED in guest.console(), "the kernel has stopped")
        with pytest.raises(KernelPanicError, match="its kernel has stopped"):
            guest.wait_until_up()
        guest.domain.destroy()
        guest.boot()
        assert guest.driver(MAC) == "8139cp"


def test_definition_has_what_a_test_adds(x86_guest: GuestFactory) -> None:
    pieces = Pieces(
        system=None,
        metadata="<site:rack xmlns:site='urn:site'><!-- by hand -->7</site:rack>",
        domain=f"<description>mail</description>{SHARED_MEMORY}",
        devices="<graphics type='vnc' passwd='s3cret'/>",
        channel=False,
    )
    with x86_guest(Nic(mac=MAC), boot=False, pieces=pieces) as guest:
        text = guest.xml(secrets=True)
        for kept in ("<!-- by hand -->", "<description>mail<", "type='memfd'", "passwd='s3cret'"):
            assert kept in text
        assert "libosinfo" not in text
        assert "guest_agent" not in text


def test_program_in_l1_is_reported_whole(l1: L1) -> None:
    ran = l1.run(["sh", "-c", "echo said; echo wrong >&2; exit 3"])
    assert (ran.exit_code, ran.stdout, ran.stderr) == (3, "said\n", "wrong\n")
    with pytest.raises(RigError, match="exit code 3: wrong"):
        ran.output()


def test_program_in_l1_has_a_deadline(l1: L1) -> None:
    with pytest.raises(RigError, match="sleep 612: no end after 1 s in the guest"):
        l1.run(["sleep", "612"], timeout=1)
    # what runs in L1 all the time sleeps as well, and not as long
    wait_for(lambda: "sleep 612" not in l1.run(["busybox", "ps"]).output(), "killed")


def test_s390x_guest_drives_its_nic(s390x_guest: GuestFactory) -> None:
    nic = Nic("virtio", mac=S390X_MAC)
    with s390x_guest(nic) as guest:
        assert guest.agent.call("guest-get-osinfo")["machine"] == "s390x"
        assert guest.driver(S390X_MAC) == "virtio_net"
        guest.wait_for_dns()
        guest.ask_agent_to_shut_down()
        guest.wait_until_off()
    with s390x_guest(nic) as guest:
        guest.wait_for_dns()
        # s390x has no power button: QEMU tells the kernel by sclp.
        guest.press_power_button()
        guest.wait_until_off()


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
def test_vhost_in_l1(l1_with_guests: L1, name: str, *, says_vhost: bool, vhost_queues: int) -> None:
    l1 = l1_with_guests
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
    names = [
        "click",
        "libvirt",
        "libvirt_qemu",
        "lxml.etree",
        "msgspec",
        "rich",
        "ruamel.yaml",
    ]
    program = f"import {', '.join(names)}, json, sys; print(json.dumps(sys.version_info[:2]))"
    assert json.loads(l1.run(["python3", "-c", program]).output()) >= [3, 10]


@pytest.mark.long
def test_l2_with_vhost_is_moved_to_vdpa(l1: L1, l2_guest: L2Factory) -> None:
    with vdpa_device(l1) as device, l2_guest(Nic(mac=MAC), shared_memory=True) as guest:
        assert guest.driver(MAC) == "virtio_net"
        assert guest.addresses(MAC) == [f"{guest.address}/24"]
        assert guest.answers_dns(seconds=PATIENCE)
        facts = l1.vhost_facts(guest.name)
        assert (facts.vhost_files, len(facts.vhost_threads), facts.vdpa_files) == (1, 1, 0)

        guest.swap(Nic(mac=MAC, kind="vdpa", source=f"<source dev='{device}'/>"))
        guest.put_address_back(MAC)
        assert guest.answers_dns(seconds=PATIENCE)
        facts = l1.vhost_facts(guest.name)
        assert (facts.vhost_files, facts.vdpa_files > 0) == (0, True)
