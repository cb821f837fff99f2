"""A command line as a domain of its own: its facts, the line of each NIC, and what only a shell
knows."""

import pytest

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig, RunningQemu
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


# written for this test in the form libvirt 9.0 logs
LOG = r"""2026-11-20 10:00:00.000+0000: starting up libvirt version: 9.0.0, qemu version: 7.2.22
LC_ALL=C \
/usr/bin/qemu-system-x86_64 \
-name guest=web,debug-threads=on \
-nodefaults \
-netdev tap,fd=31,id=hostnet0 \
-device '{"driver":"rtl8139","netdev":"hostnet0","id":"net0","mac":"52:54:00:00:00:0A"}' \
-netdev '{"type":"tap","fd":"32","id":"hostnet1"}' \
-device virtio-net-pci,netdev=hostnet1,id=net1,mac=52:54:00:00:00:0b
"""
PASTED = """$ qemu-system-x86_64 -m 512 \\
   -netdev tap,id=a \\
   -device e1000,netdev=a \\
   -netdev tap,id=b -device e1000,netdev=b
$ qemu-system-x86_64 -m 512 -nic tap,model=rtl8139
"""


def read(text: str) -> list[RunningQemu]:
    return list(read_text(text.encode(), target="t", file="f"))


def lines(qemu: RunningQemu) -> list[int | None]:
    return [nic.location.line for nic in domain_of(qemu, "t").nics]


def test_in_a_log() -> None:
    (qemu,) = read(LOG)
    assert lines(qemu) == [7, 9]


def test_pasted() -> None:
    first, second = read(PASTED)
    assert lines(first) == [3, 4]
    assert lines(second) == [5]


def test_one_id_that_begins_another() -> None:
    text = PASTED.split("$")[1].replace("netdev=a", "netdev=a,id=x10").replace(
        "e1000,netdev=b", "e1000,netdev=b,id=x1"
    )  # fmt: skip
    (qemu,) = read(f"${text}")
    assert lines(qemu) == [3, 4]


def test_a_log_is_libvirts_even_when_nothing_else_says_so() -> None:
    (qemu,) = read(LOG)
    assert qemu.owner == "libvirt"


@rows
def test_who_keeps_the_definition(arguments: str, owner: str) -> None:
    (qemu,) = read(f"/usr/bin/qemu-system-x86_64 -nodefaults -m 512 {arguments}\n")
    assert qemu.owner == owner


TAP = "-netdev tap,id=n,vhost=on"
NIC = "-device virtio-net-pci,netdev=n"


def _script(line: str) -> list[RunningQemu]:
    text = f"#!/bin/sh\nqemu-system-x86_64 {line}\n"
    return list(read_text(text.encode(), target="t", file="run.sh"))


@rows
def test_a_variable_where_a_fact_should_stand(line: str, variable: str) -> None:
    with pytest.raises(TargetError) as caught:
        _script(line)
    assert caught.value.message == (
        f"QEMU command line not understood: it has variables ({variable}), "
        "which only the shell knows"
    )
    assert (caught.value.file, caught.value.line) == ("run.sh", 2)


@rows
def test_a_placeholder_where_a_fact_should_stand(line: str, placeholder: str) -> None:
    with pytest.raises(TargetError) as caught:
        _script(line)
    assert caught.value.message == (
        f"QEMU command line not understood: it is a template ({placeholder}), to be filled in first"
    )


@rows
def test_a_variable_that_decides_nothing(line: str) -> None:
    (qemu,) = _script(line)
    nic = qemu.nics[0]
    assert (nic.driver, nic.backend, nic.vhost, nic.queues) == ("virtio-net-pci", "tap", True, 1)


@pytest.mark.parametrize("smp", ["$(nproc)", "$CPUS", "cpus=${CPUS}", "@CPUS@", "`nproc`,cores=2"])
def test_vcpus_that_only_the_shell_knows(smp: str) -> None:
    (qemu,) = _script(f"-smp {smp} {TAP} {NIC}")
    assert (qemu.vcpus, qemu.vcpus_max) == (None, None)


@pytest.mark.parametrize("given", ["-accel $ACCEL", "-machine q35,accel=${ACCEL:-kvm}"])
def test_an_accelerator_that_only_the_shell_knows(given: str) -> None:
    (qemu,) = _script(f"{given} {TAP} {NIC}")
    assert qemu.type is None
    assert len(qemu.nics) == 1


def test_what_the_kernel_or_libvirt_tells_is_no_shell_text() -> None:
    words = ["/usr/bin/qemu-kvm", "-netdev", "tap,id=$n", "-device", "virtio-net-pci,netdev=$n"]
    data = "\0".join([*words, "-name", "$x", ""]).encode()
    (qemu,) = read_text(data, target="t", file="cmdline")
    assert len(qemu.nics) == 1
