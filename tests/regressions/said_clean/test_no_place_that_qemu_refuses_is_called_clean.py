"""A bus that is not there, a slot that is another's, and values that QEMU does not take were not
looked at: QEMU does not start with them, and the NIC was called clean. Each was measured with QEMU
7.2."""

import pytest

from tests.conformance.argv import Read, read
from tests.conformance.argv_lines import Line
from vnicaudit.model.host import Version

QEMU = Version(7, 2, 22)


def _read(arguments: str, program: str = "qemu-system-x86_64") -> Read:
    words = [program, "-nodefaults"]
    return read(Line(words, f"{' '.join(words)} {arguments}\n", []), QEMU)


BRIDGE = "-device pci-bridge,id=b,chassis_nr=1"
REFUSED = {
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


@pytest.mark.parametrize(("arguments", "why"), REFUSED.items())
def test_what_qemu_refuses(arguments: str, why: str) -> None:
    (reason,) = _read(arguments).refused
    assert why in reason


@pytest.mark.parametrize(("arguments", "why"), ON_S390X.items())
def test_what_qemu_refuses_on_s390x(arguments: str, why: str) -> None:
    (reason,) = _read(arguments, "qemu-system-s390x").refused
    assert why in reason


@pytest.mark.parametrize(
    "arguments",
    [
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
    ],
)
def test_what_it_takes(arguments: str) -> None:
    found = _read(arguments)
    assert not found.refused
    assert len(found.nics) == arguments.count("-device") - sum(
        arguments.count(word) for word in ("pci-bridge", "root-port", "xhci")
    )


@pytest.mark.parametrize("more", ["-readconfig vm.cfg", "$MORE"])
def test_a_bus_that_may_be_elsewhere_is_not_missed(more: str) -> None:
    assert not any("bus" in reason for reason in _read(f"{more} -device e1000,bus=foo").refused)
