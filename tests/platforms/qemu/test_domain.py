"""A command line as a domain of its own."""

import pytest

from vnicaudit.audit.effective import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import read_text


def _domain(line: str) -> Domain:
    (qemu,) = read_text(line.encode(), target="t", file="f.sh")
    return domain_of(qemu, "t")


def test_domain_of_a_script() -> None:
    domain = _domain(
        "#!/bin/sh\nexec qemu-system-x86_64 -name lab -machine q35 -enable-kvm -smp 4 "
        "-drive file=d,if=virtio -netdev tap,id=n,vhost=on,queues=4 "
        "-device virtio-net-pci,netdev=n,mq=on,mac=52:54:00:00:00:01,id=x,tx_queue_size=1024\n"
    )
    declared = domain.declared
    assert (domain.name, domain.uuid, declared.type, declared.form) == ("lab", None, "kvm", "qemu")
    assert (declared.arch, declared.machine, declared.vcpus, declared.nics) == (
        "x86_64", "q35", 4, 1,
    )  # fmt: skip
    assert (declared.owner, declared.readiness, declared.shared_memory) == ("qemu", "ready", False)
    assert (domain.location.file, domain.location.line) == ("f.sh", 2)
    (nic,) = domain.nics
    assert nic.declared == NicConfig(
        type="ethernet",
        origin="qemu",
        actual_type="ethernet",
        model="virtio",
        driver_name="vhost",
        queues=4,
        tx_queue_size=1024,
        address_type="pci",
    )
    assert (nic.mac, nic.alias, nic.location.line) == ("52:54:00:00:00:01", "x", 2)
    assert nic.running is not None
    assert (nic.running.mac, nic.running.id) == (None, None)


def test_what_it_resolves_to() -> None:
    domain = _domain(
        "qemu-system-x86_64 -accel kvm -smp 2 -nodefaults -netdev tap,id=n,vhost=on,queues=4 "
        "-device virtio-net-pci,netdev=n,mq=on,tx_queue_size=1024\n"
    )
    (nic,) = domain.nics
    found = resolve(nic.declared, domain.declared, HostConfig(), nic.running)
    assert (found.model.effective, found.vhost.effective) == ("virtio", True)
    assert found.model.reason == "QEMU runs -device virtio-net-pci"
    assert found.vhost.reason == "seen in QEMU's command line"
    assert found.queues.reason == ("QEMU runs 4 queue pairs; 2 of them idle, the guest has 2 vCPUs")
    assert (found.tx_queue_size.declared, found.tx_queue_size.effective) == (1024, 256)
    assert (
        found.tx_queue_size.reason == "QEMU was started with 1024; the backend supports 256 at most"
    )
    assert found.starts


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("tap", "ethernet"), ("bridge,br=br0", "bridge"), ("user", "user"),
     ("vhost-user,chardev=c", "vhostuser"), ("vhost-vdpa,vhostdev=/dev/v", "vdpa"),
     ("socket,connect=h:1", "socket"), ("af-xdp,ifname=e", "af-xdp")],
)  # fmt: skip
def test_types(backend: str, kind: str) -> None:
    domain = _domain(f"qemu-system-x86_64 -netdev {backend},id=n -device e1000,netdev=n -m 1\n")
    (nic,) = domain.nics
    assert (nic.declared.type, nic.declared.actual_type) == (kind, kind)


def test_an_assigned_device_is_as_in_xml() -> None:
    domain = _domain("qemu-system-x86_64 -nodefaults -m 1 -device vfio-pci,host=01:00.0\n")
    (nic,) = domain.nics
    assert nic.declared == NicConfig(type="hostdev", origin="hostdev", actual_type="hostdev")


def test_names_for_the_nameless() -> None:
    assert _domain("qemu-system-x86_64 -nodefaults -m 1\n").name == "QEMU at line 1"
    assert _domain("77 qemu-system-x86_64 -nodefaults -m 1\n").name == "QEMU 77"


def test_a_backend_of_unknown_kind() -> None:
    domain = _domain("qemu-system-x86_64 -nodefaults -m 1 -device e1000\n")
    (nic,) = domain.nics
    assert (nic.declared.type, nic.declared.actual_type) == ("none", "none")
