"""Real guests of this machine's libvirtd, as the installed command sees them."""

import os
from collections.abc import Iterator

import pytest

from tests.rig.domain_xml import MAC, S390X_MAC, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.product import effective, nic_of, report_here, rules_of

pytestmark = pytest.mark.rig

SYSTEM = "qemu:///system"


@pytest.fixture(scope="module")
def legacy(x86_guest: GuestFactory) -> Iterator[Guest]:
    with x86_guest(Nic("rtl8139", mac=MAC)) as guest:
        yield guest


@pytest.fixture(scope="module")
def tuned(x86_guest: GuestFactory) -> Iterator[Guest]:
    driver = "<driver name='vhost' queues='2' rx_queue_size='512'/>"
    nic = Nic("virtio", mac="52:54:00:ab:01:02", extra=driver)
    with x86_guest(nic, machine="q35", vcpus=2, once=True) as guest:
        yield guest


def test_a_legacy_nic_is_found_on_what_runs(legacy: Guest) -> None:
    report = report_here("audit", SYSTEM)
    (finding,) = (
        f for f in report["findings"]
        if f["about"]["name"] == legacy.name and f["rule"] == "VNIC001"
    )  # fmt: skip
    assert finding["about"]["mac"] == MAC
    assert finding["message"].startswith("rtl8139 is emulated packet by packet")
    assert (finding["change"]["new"], finding["change"]["safe"]) == ("virtio", True)
    nic = nic_of(report_here("nics", SYSTEM), legacy.name)
    assert effective(nic, "model") == ("rtl8139", "QEMU runs -device rtl8139")
    assert effective(nic, "vhost")[0] is False
    assert nic["active"] is True


def test_what_the_guest_itself_sees_agrees(legacy: Guest) -> None:
    link = legacy.run(["readlink", "/sys/class/net/eth0/device/driver"]).output()
    assert link.strip().endswith("/8139cp")


def test_queues_and_rings_come_from_qemus_arguments(tuned: Guest) -> None:
    nic = nic_of(report_here("nics", SYSTEM), tuned.name)
    assert effective(nic, "queues") == (2, "QEMU runs 2 queue pairs")
    assert effective(nic, "rx_queue_size") == (512, "from QEMU's arguments")
    assert effective(nic, "tx_queue_size") == (256, "from QEMU's arguments")


def test_tcg_says_vhost_and_has_none(tuned: Guest) -> None:
    nic = nic_of(report_here("nics", SYSTEM), tuned.name)
    assert nic["vhost"]["declared"] is True
    assert nic["vhost"]["effective"] is False
    assert "seen in QEMU's" in nic["vhost"]["reason"]


def test_the_processes_alone_tell_the_same(legacy: Guest, tuned: Guest) -> None:
    report = report_here("nics", "/proc")
    assert nic_of(report, legacy.name)["model"]["effective"] == "rtl8139"
    nic = nic_of(report, tuned.name)
    assert [nic[fact]["effective"] for fact in ("model", "queues", "rx_queue_size")] == [
        "virtio", 2, 512,
    ]  # fmt: skip
    one = report_here("nics", f"/proc/{tuned.pid}")
    assert [found["domain"] for found in one["nics"]] == [tuned.name]


def test_the_log_of_the_last_start_tells_the_same(tuned: Guest) -> None:
    report = report_here("nics", f"/var/log/libvirt/qemu/{tuned.name}.log")
    nic = nic_of(report, tuned.name)
    assert nic["queues"]["effective"] == 2
    assert nic["mac"] == "52:54:00:ab:01:02"


def test_persistent_and_status_files_of_libvirt_are_read(legacy: Guest) -> None:
    for path in (
        f"/etc/libvirt/qemu/{legacy.name}.xml",
        f"/run/libvirt/qemu/{legacy.name}.xml",
    ):
        if not os.path.exists(path):  # a transient guest has a status and no definition
            continue
        report = report_here("audit", path)
        assert "VNIC001" in rules_of(report, legacy.name), path


def test_s390x_runs_virtio_over_ccw(s390x_guest: GuestFactory) -> None:
    with s390x_guest(Nic("virtio", mac=S390X_MAC)) as guest:
        nic = nic_of(report_here("nics", SYSTEM), guest.name)
        assert nic["arch"] == "s390x"
        assert effective(nic, "model") == ("virtio", "QEMU runs -device virtio-net-ccw")
        assert rules_of(report_here("audit", SYSTEM), guest.name) <= {"VNIC022"}


def test_s390x_with_e1000_is_an_error_before_it_is_started(s390x_guest: GuestFactory) -> None:
    with s390x_guest(Nic("e1000"), boot=False) as guest:
        report = report_here("audit", SYSTEM)
        (finding,) = (
            f for f in report["findings"]
            if f["about"]["name"] == guest.name and f["rule"] == "VNIC008"
        )  # fmt: skip
        assert finding["severity"] == "error"
        assert "VNIC002" not in rules_of(report, guest.name)


def test_a_defined_guest_without_a_model_gets_libvirts_default(x86_guest: GuestFactory) -> None:
    with x86_guest(Nic(None), boot=False) as guest:
        nic = nic_of(report_here("nics", SYSTEM), guest.name)
        assert nic["model"]["effective"] == "rtl8139"
        assert nic["active"] is False
