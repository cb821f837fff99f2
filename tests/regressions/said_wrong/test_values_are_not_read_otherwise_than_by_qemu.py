"""Values were read as Python reads them, or in one of the forms that QEMU takes: guests that start
were said not to, and NICs had rings, queues or addresses that they have not. Each was measured with
QEMU 7.2."""

import pytest

from tests.conformance.argv import Shape, read
from tests.conformance.argv_lines import Line
from vnicaudit.model.host import Version

QEMU = Version(7, 2, 22)
VIRTIO = Shape("virtio", None, 1, 256, 256)
E1000 = Shape("e1000", None, 1, None, None)
TAP = "-netdev tap,id=n,script=no,downscript=no"


def _read(arguments: str) -> tuple[list[Shape], bool]:
    words = ["qemu-system-x86_64", "-nodefaults"]
    found = read(Line(words, f"{' '.join(words)} {arguments}\n", []), QEMU)
    return found.nics, bool(found.refused)


@pytest.mark.parametrize(
    ("arguments", "nic"),
    [
        ("-device virtio-net-pci,rx_queue_size=01000", VIRTIO._replace(rx_queue_size=512)),
        (f"{TAP},queues=010 -device virtio-net-pci,netdev=n,mq=on", VIRTIO._replace(queues=8)),
        (
            f"{TAP} -set netdev.n.queues=2 -device virtio-net-pci,netdev=n,mq=on",
            VIRTIO._replace(queues=2),
        ),
        (
            "-device virtio-net-pci -global property=rx_queue_size,driver=virtio-net-pci,value=512",
            VIRTIO._replace(rx_queue_size=512),
        ),
        ("-device \"{'driver':'e1000'}\"", E1000),
        ("-usbdevice tablet -device usb-net", E1000._replace(model="usb-net")),
        ("-net nic,vectors=3 -net user", E1000),
        ("-device virtio-net-pci,mac=00:00:00:00:00:00", VIRTIO),
        ("-nic user,mac=00:00:00:00:00:00", E1000),
        ("-nic user,mac=", E1000),
        ("-nic user,mac=52:54:0:1:2:3", E1000._replace(mac="52:54:00:01:02:03")),
        ("-nic user,mac=0x123", E1000._replace(mac="00:00:00:00:01:23")),
        ("-net nic,macaddr=17 -net user", E1000._replace(mac="00:00:00:00:00:11")),
    ],
)
def test_what_starts(arguments: str, nic: Shape) -> None:
    assert _read(arguments) == ([nic], False)


@pytest.mark.parametrize(
    "arguments",
    [
        "-device virtio-net-pci,rx_queue_size=0512",
        "-device virtio-net-pci,rx_queue_size=5_12",
        '-device "virtio-net-pci,rx_queue_size=512 "',
        "-device virtio-net-pci,mq=ON",
        """-device '{"driver":"e1000","driver":"rtl8139"}'""",
        "-nic user,vectors=3",
        "-nic user,addr=5",
        "-nic user,mac=525400000001",
        "-nic user,mac=1:2:3:4:5:6",
    ],
)
def test_what_does_not(arguments: str) -> None:
    _nics, refused = _read(arguments)
    assert refused
