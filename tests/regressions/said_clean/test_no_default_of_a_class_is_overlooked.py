"""``-global virtio-net-pci.rx_queue_size=1024`` was not heeded for ``-device virtio-net``, which is
that device, nor ``virtio-net-pci-base``, which it is derived from, nor for ``-nic``. What QEMU 7.2
and 10.0 make of each was read from ``info qtree``."""

import pytest

from vnicaudit.platforms.qemu.read import read_text

RING = "rx_queue_size=1024"


@pytest.mark.parametrize(
    ("nic", "driver", "size"),
    [
        ("-device virtio-net", "virtio-net-pci", 1024),
        ("-device virtio-net", "virtio-net-pci-base", 1024),
        ("-device virtio-net", "virtio-pci", 1024),
        ("-device virtio-net", "virtio-net-device", 1024),
        ("-device virtio-net", "virtio-device", 1024),
        ("-device virtio-net", "virtio-net", 256),
        ("-device virtio-net", "virtio-net-pci-transitional", 256),
        ("-device virtio-net-pci", "virtio-net-pci", 1024),
        ("-device virtio-net-pci-non-transitional", "virtio-net-pci", 256),
        ("-device virtio-net-pci-non-transitional", "virtio-net-pci-base", 1024),
        ("-nic user,model=virtio", "virtio-net-pci", 1024),
        ("-net nic,model=virtio -net user", "virtio-net-pci-base", 1024),
        ("-device virtio-net,rx_queue_size=512", "virtio-net-pci-base", 512),
    ],
)
def test_the_ring_is_what_qemu_makes_of_it(nic: str, driver: str, size: int) -> None:
    for option in (f"{driver}.{RING}", f"driver={driver},property=rx_queue_size,value=1024"):
        text = f"qemu-system-x86_64 -nodefaults {nic} -global {option}\n"
        (qemu,) = read_text(text.encode(), target="t", file=None)
        assert [one.rx_queue_size for one in qemu.nics] == [size]


def test_on_s390x_the_alias_is_the_ccw_device() -> None:
    text = f"qemu-system-s390x -nodefaults -device virtio-net -global virtio-net-ccw.{RING}\n"
    (qemu,) = read_text(text.encode(), target="t", file=None)
    assert [one.rx_queue_size for one in qemu.nics] == [1024]


def test_the_later_of_two_wins() -> None:
    text = (
        "qemu-system-x86_64 -nodefaults -device virtio-net "
        "-global virtio-net-pci.rx_queue_size=512 -global virtio-net-pci-base.rx_queue_size=1024\n"
    )
    (qemu,) = read_text(text.encode(), target="t", file=None)
    assert [one.rx_queue_size for one in qemu.nics] == [1024]
