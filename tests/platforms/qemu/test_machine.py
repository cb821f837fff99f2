"""Arguments -> facts of the machine."""

from __future__ import annotations

import shlex

import pytest

from vnicaudit.platforms.qemu import machine
from vnicaudit.platforms.qemu.arguments import Arguments, parse


def _arguments(line: str) -> Arguments:
    return parse(shlex.split(line))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-name guest=web,debug-threads=on", "web"),
        ("-name web", "web"),
        ("-name web,process=qemu:web", "web"),
        ("-name 'a,,b'", "a,b"),
        ("-m 1", None),
    ],
)
def test_name(line: str, name: str | None) -> None:
    assert machine.guest_name(_arguments(line)) == name


@pytest.mark.parametrize(
    ("program", "line", "arch"),
    [
        ("/usr/bin/qemu-system-x86_64", "", "x86_64"),
        ("qemu-system-i386", "", "i686"),
        ("qemu-system-arm", "", "armv7l"),
        ("/opt/q/qemu-system-s390x", "", "s390x"),
        ("qemu-system-x86_64-microvm", "", "x86_64"),
        (".qemu-system-x86_64-wrapped", "", "x86_64"),
        ("/usr/libexec/qemu-kvm", "-machine pc-q35-rhel9.2.0", "x86_64"),
        ("/usr/libexec/qemu-kvm", "-M s390-ccw-virtio-rhel9.2.0", "s390x"),
        ("/usr/bin/kvm", "-machine virt", None),
        ("kvm", "-m 512", None),
    ],
)
def test_architecture(program: str, line: str, arch: str | None) -> None:
    assert machine.architecture(program, _arguments(line)) == arch


@pytest.mark.parametrize(
    ("program", "line", "kind"),
    [
        ("qemu-system-x86_64", "", "qemu"),
        ("qemu-system-x86_64", "-enable-kvm", "kvm"),
        ("qemu-system-x86_64", "-accel kvm", "kvm"),
        ("qemu-system-x86_64", "-accel tcg,thread=multi", "qemu"),
        ("qemu-system-x86_64", "-machine pc,accel=kvm", "kvm"),
        ("qemu-system-x86_64", "-M pc -machine accel=tcg", "qemu"),
        ("qemu-system-x86_64", "-machine pc,accel=kvm:tcg", None),
        ("qemu-system-x86_64", "-accel kvm -accel tcg", None),
        ("qemu-system-x86_64", "-accel hvf", "hvf"),
        ("/usr/bin/kvm", "-m 512", None),
        ("/usr/libexec/qemu-kvm", "-accel kvm", "kvm"),
    ],
)
def test_accelerator(program: str, line: str, kind: str | None) -> None:
    assert machine.accelerator(program, _arguments(line)) == kind


@pytest.mark.parametrize(
    ("line", "vcpus"),
    [
        ("", (1, 1)),
        ("-smp 4", (4, 4)),
        ("-smp 2,maxcpus=8,sockets=8,cores=1,threads=1", (2, 8)),
        ("-smp cpus=3", (3, 3)),
        ("-smp sockets=2,cores=2,threads=2", (8, 8)),
        ("-smp maxcpus=6", (6, 6)),
        ("-smp junk", (1, 1)),
    ],
)
def test_vcpus(line: str, vcpus: tuple[int, int]) -> None:
    assert machine.vcpus(_arguments(line)) == vcpus


@pytest.mark.parametrize(
    ("line", "owner"),
    [
        ("-m 1", "qemu"),
        ("-object secret,id=masterKey0,file=/k", "libvirt"),
        ("-smbios type=1,product=Standard", "qemu"),
        ("-smbios 'type=1,manufacturer=X,product=OpenStack Compute'", "nova"),
        ("-smbios type=1,manufacturer=KubeVirt,product=None,family=KubeVirt", "kubevirt"),
        ("-smbios 'type=1,product=RHEV Hypervisor'", "ovirt"),
        ("-smbios 'type=0,product=OpenStack Nova'", "qemu"),
    ],
)
def test_owner(line: str, owner: str) -> None:
    assert machine.owner(_arguments(line)) == owner


@pytest.mark.parametrize(
    ("line", "shared"),
    [
        ("-object memory-backend-memfd,id=m,size=1G,share=on", True),
        ('-object \'{"qom-type":"memory-backend-file","id":"m","share":true}\'', True),
        ("-object memory-backend-ram,id=m", False),
        ("-object secret,id=s,share=on", False),
        ('-object \'{"qom-type":"memory-backend-file","share":tr\'', False),
        ("", False),
    ],
)
def test_shared_memory(line: str, shared: bool) -> None:
    assert machine.shared_memory(_arguments(line)) is shared


@pytest.mark.parametrize(
    ("line", "disk"),
    [
        ("-device virtio-blk-pci,drive=d", True),
        ('-device \'{"driver":"virtio-blk-ccw"}\'', True),
        ("-drive file=x,if=virtio", True),
        ("-drive file=x,if=ide -device virtio-scsi-pci", False),
    ],
)
def test_virtio_disk(line: str, disk: bool) -> None:
    assert machine.has_virtio_disk(_arguments(line)) is disk


@pytest.mark.parametrize(
    ("line", "windows"),
    [
        ("-cpu host,hv_time,hv_relaxed", True),
        ("-cpu host,hv-time=on", True),
        ("-rtc base=localtime,driftfix=slew", True),
        ("-localtime", True),
        ("-cpu host,-hypervisor -rtc base=utc", False),
    ],
)
def test_windows_hint(line: str, windows: bool) -> None:
    assert machine.windows_hint(_arguments(line)) is windows


@pytest.mark.parametrize(
    ("line", "session"),
    [
        # libvirt 9.0 and 11.3, system; session; embedded (qemu:///embed?root=/srv/x)
        ('-object \'{"qom-type":"secret","id":"masterKey0","format":"raw",'
         '"file":"/var/lib/libvirt/qemu/domain-1-web/master-key.aes"}\'', False),
        ("-object secret,id=masterKey0,file=/root/.config/libvirt/qemu/lib/domain-1-web/k", True),
        ("-object secret,id=masterKey0,format=raw,file=/srv/x/lib/qemu/domain-1-web/k", None),
        # before the secret (libvirt 1.3): the monitor
        ("-chardev socket,id=charmonitor,path=/var/lib/libvirt/qemu/web.monitor,server", False),
        ("-chardev socket,id=charmonitor,fd=27,server=on,wait=off", None),
        # somebody's own file there proves nothing
        ("-object secret,id=mine,file=/var/lib/libvirt/qemu/k",
         None),
        ("", None),
    ],
)  # fmt: skip
def test_session(line: str, session: bool | None) -> None:
    assert machine.session(_arguments(line)) is session
