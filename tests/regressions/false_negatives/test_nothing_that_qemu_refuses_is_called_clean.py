"""Backends, ids, buses, slots and values that QEMU refuses were not looked at: QEMU does not start
with them, and the NIC was called clean. Values were read as Python reads them: guests that start
were said not to. Each was measured with QEMU 7.2; what concerns dgram, socket, stream, l2tpv3 and
passt with 10.0 and 11.1 too."""

import json
import shlex

import pytest

from tests.conformance.argv import Read, Shape, read
from tests.conformance.argv_lines import Line
from tests.rows import rows_of_tuples
from vnicaudit.model.host import Version

ON_N = "-device virtio-net-pci,netdev=n"
TAP = "tap,id=n,script=no,downscript=no"
BRIDGE = "-device pci-bridge,id=b,chassis_nr=1"
VIRTIO = Shape("virtio", None, 1, 256, 256)
E1000 = Shape("e1000", None, 1, None, None)


QEMU = Version(7, 2, 22)


def _read(arguments: str, qemu: Version = QEMU, program: str = "qemu-system-x86_64") -> Read:
    words = [program, "-nodefaults"]
    return read(Line(words, f"{' '.join(words)} {arguments}\n", []), qemu)


def _in_json(**given: object) -> str:
    return shlex.quote(json.dumps({"id": "n", **given}))


REFUSED = {
    f"-netdev user,id=n -netdev user,id=n {ON_N}": "netdev 'n' is defined twice",
    "-netdev user,id=0n -device e1000,netdev=0n": "id='0n' is not a valid id",
    "-netdev 'user,id=n 0' -device 'e1000,netdev=n 0'": "id='n 0' is not a valid id",
    "-netdev user,id=nä -device e1000,netdev=nä": "id='nä' is not a valid id",
    "-device 'e1000,id=a b'": "id='a b' is not a valid id",
    "-nic user,id=0x": "id='0x' is not a valid id",
    "-netdev user -device virtio-net-pci": "-netdev user has no id=",
    f"-netdev user,id=n,queues=2 {ON_N}": "-netdev user has no option queues=",
    f"-netdev user,id=n,vhost=on {ON_N}": "-netdev user has no option vhost=",
    f"-netdev bridge,id=n,queues=2 {ON_N}": "-netdev bridge has no option queues=",
    f"-netdev user,id=n,mac=52:54:00:00:00:01 {ON_N}": "-netdev user has no option mac=",
    f"-netdev user,id=n,model=virtio {ON_N}": "-netdev user has no option model=",
    "-nic user,queues=2": "-nic user has no option queues=",
    "-nic user,rx_queue_size=512": "rx_queue_size= is a property of -device",
    f"-netdev {TAP},queues=x {ON_N}": "queues='x' of -netdev is not a number",
    f"-netdev {TAP},queues=0 {ON_N}": "queues=0 of -netdev leaves no queue",
    f"-netdev {TAP},vhost=1 {ON_N}": "vhost='1' of -netdev is neither on nor off",
    f"-netdev {TAP},fd=99 {ON_N}": "fd= and downscript= of a tap exclude each other",
    "-net nic,model=virtio -net tap,script=no,queues=2": "cannot be on the hub of -net",
    "-net nic -net user,queues=2": "-net user has no option queues=",
    f"-netdev {_in_json(type='tap', queues='2')} {ON_N}": '"queues" is a number in JSON',
    f"-netdev {_in_json(type='tap', vhost='on')} {ON_N}": '"vhost" is true or false in JSON',
    f"-netdev hubport,id=n {ON_N}": "-netdev hubport has no hubid=",
    f"-netdev vhost-user,id=n {ON_N}": "-netdev vhost-user has no chardev=",
    f"-netdev vhost-user,id=n,chardev=c {ON_N}": "uses chardev 'c', which does not exist",
    f"-netdev vhost-vdpa,id=n {ON_N}": "-netdev vhost-vdpa has neither vhostdev= nor vhostfd=",
    f"-netdev user,id=n -set netdev.n.queues=2 {ON_N}": "-netdev user has no option queues=",
    f"-set netdev.n.restrict=on -netdev user,id=n {ON_N}": "-set netdev.n comes before any",
    '-device \'{"driver": "e1000", "id": "a"}\' -set device.a.mac=52:54:00:00:00:01': (
        "-set device.a comes before any such device"
    ),
    "--device=rtl8139": "-device and its value are one word",
    f"-netdev none,id=n {ON_N}": "-netdev none is not a backend",
    f"-netdev stream,id=n {ON_N}": "-netdev stream has no addr.type=",
    f"-netdev dgram,id=n {ON_N}": "-netdev dgram has no local.type=",
    "-nic stream,addr.type=unix,addr.path=/x": "-nic cannot describe stream",
    "-nic l2tpv3,src=127.0.0.1,dst=127.0.0.1": "-nic l2tpv3 has no txsession=",
    "-nic netmap": "-nic netmap has no ifname=",
    "-nic vhost-user,chardev=c": "uses chardev 'c', which does not exist",
    "-net nic -net hubport,hubid=0": "-net is itself on a hub",
    f"-netdev socket,id=n {ON_N}": "-netdev socket needs exactly one of listen=",
    "-nic socket,listen=:1,connect=:2": "-nic socket needs exactly one of listen=",
    "-nic socket,udp=127.0.0.1:1": "-nic socket with udp= has no localaddr=",
    "-nic socket,listen=:1,localaddr=127.0.0.1": "localaddr= of -nic socket is for mcast= and udp=",
    "-nic af-xdp,ifname=lo": "-netdev af-xdp came with QEMU 8.2",
    f"-netdev passt,id=n,mtu=9000 {ON_N}": "-netdev passt came with QEMU 10.1",
    f"-netdev bogus,id=n {ON_N}": "'bogus' is not a backend of -netdev",
    "-device e1000,bus=foo": "there is no bus 'foo'",
    "-device e1000,bus=pci.1": "there is no bus 'pci.1'",
    "-M q35 -device pcie-root-port,id=rp -device e1000e,bus=rp1": "there is no bus 'rp1'",
    "-device e1000,addr=5 -device e1000,addr=0x5.0": (
        "PCI slot '5.0' is already used by another device"
    ),
    f"{BRIDGE} -device e1000,bus=b,addr=1 -device e1000,bus=b,addr=1": "PCI slot 'b 1.0' is",
    "-device virtio-net-pci,rombar=0 -device virtio-net-pci-transitional,rombar=0": (
        "romfile 'efi-virtio.rom' is already used by another device"
    ),
    "-device e1000,addr=0": "PCI slot '0' is used by the machine itself",
    "-device e1000,addr=1": "PCI slot '1' is used by the machine itself",
    "-M q35 -device e1000e,addr=1f": "PCI slot '1f' is used by the machine itself",
    "-device e1000,addr=20": "addr='20' is not a PCI slot",
    "-device e1000,addr=5.8": "addr='5.8' is not a PCI slot",
    f"{BRIDGE} -device virtio-net-pci,bus=b,addr=1,iommu_platform=on": "iommu_platform=on is for",
    "-device virtio-net-pci,disable-legacy=true": "disable-legacy='true' is not on, off",
    "-device virtio-net-pci,host_mtu=65536": "host_mtu='65536' is more than 65535",
    "-device virtio-net-pci,bootindex=1 -device e1000,bootindex=1": "bootindex '1' is already used",
    "-device virtio-net-pci,bootindex=x": "bootindex='x' is not a number",
    "-device virtio-net-pci,multifunction=maybe": "multifunction='maybe' is neither on nor off",
    "-device e1000,acpi-index=3 -device e1000,acpi-index=3": "acpi-index '3' is already used",
    "-M microvm -device virtio-net-device,addr=3": "virtio-net-device has no property addr",
}
ON_S390X = {
    "-device virtio-net-ccw,bus=css.0": "there is no bus 'css.0'",
    "-device virtio-net-ccw,addr=3": "virtio-net-ccw has no property addr",
    "-device virtio-net-ccw,devno=fe.0.1": "devno='fe.0.1' is not a device number",
    "-device virtio-net-ccw,devno=fe.0.0001 -device virtio-net-ccw,devno=fe.0.0001": (
        "devno 'fe.0.0001' is already used by another device"
    ),
}
BAD_VALUES = (
    "-device virtio-net-pci,rx_queue_size=0512",
    "-device virtio-net-pci,rx_queue_size=5_12",
    '-device "virtio-net-pci,rx_queue_size=512 "',
    "-device virtio-net-pci,mq=ON",
    """-device '{"driver":"e1000","driver":"rtl8139"}'""",
    "-nic user,vectors=3",
    "-nic user,addr=5",
    "-nic user,mac=525400000001",
    "-nic user,mac=1:2:3:4:5:6",
)
TAKEN = (
    f"-netdev {_in_json(type='user')} {ON_N}",
    '-netdev \'{"type": "user", "id": "n 0"}\' -device \'e1000,netdev=n 0\'',
    f"-netdev {_in_json(type='tap', fds='28:30', vhost=True, vhostfds='31:32')} {ON_N},mq=on",
    f"-netdev tap,fds=28:30,id=n,vhost=on,vhostfds=31:32 {ON_N},mq=on",
    f"-netdev tap,fd=28,id=n,vhost=on,vhostfd=31 {ON_N}",
    f"-netdev user,id=n,hostfwd=tcp::1-:22,hostfwd=tcp::2-:23,restrict=y {ON_N}",
    f"-chardev socket,id=c,path=/x -netdev vhost-user,id=n,chardev=c,queues=2 {ON_N},mq=on",
    f"-netdev vhost-vdpa,id=n,vhostdev=/dev/vhost-vdpa-0,queues=2 {ON_N},mq=on",
    f"-netdev user,id=u -netdev hubport,id=n,hubid=0,netdev=u {ON_N}",
    f"-netdev stream,id=n,server=on,addr.type=unix,addr.path=/x {ON_N}",
    f"-netdev user,id=n -set netdev.n.restrict=on {ON_N}",
    f"-netdev dgram,id=n,remote.type=inet,remote.host=230.0.0.1,remote.port=9 {ON_N}",
    f"-netdev {_in_json(type='stream', addr={'type': 'unix', 'path': '/x'})} {ON_N}",
    "-nic socket,mcast=230.0.0.1:1234,localaddr=127.0.0.1",
    "-nic socket,udp=127.0.0.1:1,localaddr=127.0.0.1:2",
    "-nic l2tpv3,src=127.0.0.1,dst=127.0.0.1,txsession=1",
    "-chardev socket,id=c,path=/x -nic vhost-user,chardev=c,model=virtio",
    "-nic tap,model=virtio,mac=52:54:00:00:00:01,br=br0,helper=/x",
    "-nic bridge,br=br0,model=virtio,id=n",
    "-net nic,netdev=n -netdev user,id=n",
    "-device e1000,addr=5.0,multifunction=on -device e1000,addr=5.1",
    "-device pci-bridge,chassis_nr=1 -device e1000,bus=pci.1,addr=1",
    f"{BRIDGE} -device e1000,bus=b,addr=5 -device e1000,addr=5",
    "-M q35 -device pcie-root-port,id=pci.1 -device e1000e,bus=pci.1,addr=0x0",
    "-M q35 -device pcie-root-port,id=rp -device virtio-net-pci,bus=rp,iommu_platform=on",
    "-device nec-usb-xhci,id=x -device usb-net,bus=x.0",
    "-usb -device usb-net,bus=usb-bus.0",
    "-M isapc -device ne2k_isa,bus=isa.0",
    """-device '{"driver":"e1000","addr":40}' -device e1000,addr=6""",
    "-device e1000,bootindex=-1 -device e1000,bootindex=-1",
    "-device e1000,acpi-index=0 -device e1000,acpi-index=0",
    "-device virtio-net-pci,host_mtu=65535,disable-legacy=auto,multifunction=y,bootindex=0",
)


@pytest.mark.parametrize(("arguments", "why"), REFUSED.items())
def test_what_qemu_refuses_is_told_with_its_reason(arguments: str, why: str) -> None:
    (reason,) = _read(arguments).refused
    assert why in reason


@pytest.mark.parametrize(("arguments", "why"), ON_S390X.items())
def test_what_qemu_refuses_on_s390x_is_told_with_its_reason(arguments: str, why: str) -> None:
    (reason,) = _read(arguments, program="qemu-system-s390x").refused
    assert why in reason


@pytest.mark.parametrize("arguments", BAD_VALUES)
def test_a_value_that_qemu_does_not_read_is_refused(arguments: str) -> None:
    assert _read(arguments).refused


@pytest.mark.parametrize("arguments", TAKEN)
def test_what_qemu_takes_is_not_refused(arguments: str) -> None:
    found = _read(arguments)
    assert not found.refused
    bridges = sum(arguments.count(word) for word in ("pci-bridge", "root-port", "xhci"))
    given = arguments.count("-device") + arguments.count("-nic") + arguments.count("-net nic")
    assert len(found.nics) == given - bridges


@rows_of_tuples
def test_a_value_is_read_as_qemu_reads_it(arguments: str, nic: Shape) -> None:
    found = _read(arguments)
    assert (found.nics, found.refused) == ([nic], ())


def test_a_backend_that_came_later_is_taken_by_a_later_qemu() -> None:
    passt = f"-netdev passt,id=n,mtu=9000,mac=52:54:00:00:00:02,vhost-user=on {ON_N}"
    for arguments in (passt, "-nic passt,mtu=9000,model=virtio", "-nic af-xdp,ifname=lo"):
        found = _read(arguments, Version(11, 1))
        assert not found.refused
        assert len(found.nics) == 1


def test_a_chardev_that_a_file_may_hold_is_not_missed() -> None:
    text = f"-readconfig vm.cfg -netdev vhost-user,id=n,chardev=c {ON_N}"
    assert not any("chardev" in reason for reason in _read(text).refused)


@pytest.mark.parametrize("more", ["-readconfig vm.cfg", "$MORE"])
def test_a_bus_that_may_be_elsewhere_is_not_missed(more: str) -> None:
    assert not any("bus" in reason for reason in _read(f"{more} -device e1000,bus=foo").refused)
