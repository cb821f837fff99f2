"""What was wrong with a ``-netdev``, and with the ids of devices, was not looked at: QEMU does not
start with it, and the NIC on it was called clean. Each was measured with QEMU 7.2; what
concerns dgram, socket, stream, l2tpv3 and passt with 10.0 and 11.1 too."""

import json
import shlex

import pytest

from tests.conformance.argv import Read, read
from tests.conformance.argv_lines import Line
from vnicaudit.model.host import Version

QEMU = Version(7, 2, 22)
ON_N = "-device virtio-net-pci,netdev=n"
TAP = "tap,id=n,script=no,downscript=no"


def _read(arguments: str, qemu: Version = QEMU) -> Read:
    words = ["qemu-system-x86_64", "-nodefaults"]
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
}


@pytest.mark.parametrize(("arguments", "why"), REFUSED.items(), ids=list(REFUSED.values()))
def test_what_qemu_refuses(arguments: str, why: str) -> None:
    (reason,) = _read(arguments).refused
    assert why in reason


@pytest.mark.parametrize(
    "arguments",
    [
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
    ],
)
def test_what_it_takes(arguments: str) -> None:
    found = _read(arguments)
    assert not found.refused
    assert len(found.nics) == 1


def test_a_backend_that_came_later() -> None:
    passt = f"-netdev passt,id=n,mtu=9000,mac=52:54:00:00:00:02,vhost-user=on {ON_N}"
    for arguments in (passt, "-nic passt,mtu=9000,model=virtio", "-nic af-xdp,ifname=lo"):
        found = _read(arguments, Version(11, 1))
        assert not found.refused
        assert len(found.nics) == 1


def test_a_chardev_that_a_file_may_hold_is_not_missed() -> None:
    text = f"-readconfig vm.cfg -netdev vhost-user,id=n,chardev=c {ON_N}"
    assert not any("chardev" in reason for reason in _read(text).refused)
