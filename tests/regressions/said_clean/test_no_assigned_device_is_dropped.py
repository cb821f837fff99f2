"""``-device vfio-pci,sysfsdev=`` was dropped, while ``host=`` was listed: both assign a device of
the host, which may be a network adapter."""

import pytest

from vnicaudit.platforms.qemu.read import read_text


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ("host=0000:3b:10.2", True),
        ("sysfsdev=/sys/bus/pci/devices/0000:3b:10.2", True),
        ("sysfsdev=/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:10.2/", True),
        ("sysfsdev=/sys/bus/mdev/devices/4b20d080-1b54-4048-85b3-a6a62d165c01", False),
        (
            "sysfsdev=/sys/devices/pci0000:00/0000:00:02.0/4b20d080-1b54-4048-85b3-a6a62d165c01",
            False,
        ),
    ],
)
def test_the_device_is_listed(value: str, listed: bool) -> None:
    text = f"qemu-system-x86_64 -nodefaults -device vfio-pci,{value}\n"
    (qemu,) = read_text(text.encode(), target="t", file=None)
    assert [nic.driver for nic in qemu.nics] == (["vfio-pci"] if listed else [])
