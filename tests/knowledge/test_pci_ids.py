"""The PCI id by which a guest finds a driver."""

import msgspec
import pytest

from tests.remedy.planning.guests import PC, Q35, S390X, ccw, nic, pci
from tests.rows import rows
from vnicaudit.knowledge.systems import pci_id, port_unknown
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.nic import Effective, Nic, Resolved

KNOWN = msgspec.structs.replace(Q35, pcie_ports=(1, 3))
"""Bus 1 is a port, bus 2 is not."""
VIRT = DomainConfig(type="kvm", arch="aarch64", machine="virt-7.2")


@rows
def test_of_conventional_pci(model: str, expected: str) -> None:
    assert pci_id(pci(model), PC) == expected


@pytest.mark.parametrize(
    ("given", "domain", "expected"),
    [
        (pci("virtio", "0000:01:00.0"), KNOWN, "1af4:1041"),
        (pci("virtio", "0000:02:01.0"), KNOWN, "1af4:1000"),
        (pci("virtio", "0000:00:05.0"), Q35, "1af4:1000"),
        (pci("virtio", "0000:01:00.0"), Q35, None),
        (pci("virtio", None), Q35, "1af4:1041"),
        (pci("virtio-transitional", "0000:02:01.0"), Q35, "1af4:1000"),
        (pci("virtio-non-transitional", "0000:01:00.0"), Q35, "1af4:1041"),
        (pci("igb", "0000:01:00.0"), Q35, "8086:10c9"),
        (pci("virtio", None), PC, "1af4:1000"),
        (ccw("virtio"), S390X, None),
        (pci("virtio", None), S390X, None),
        (pci("virtio", "0000:00:01.0"), S390X, "1af4:1000"),
        (pci("virtio", "0000:01:00.0"), VIRT, None),
        (pci("virtio"), DomainConfig(type="kvm", arch="x86_64"), None),
        (nic("usb-net", None, "usb", 0), PC, None),
        (pci("made-up"), PC, None),
        (pci(None), PC, None),
    ],
    ids=[
        "in a port", "behind a bridge", "on the root bus of q35", "on a bus of q35 not known",
        "q35, libvirt chooses", "transitional by name", "modern by name", "igb",
        "pc, libvirt chooses", "ccw", "s390x, libvirt chooses", "zPCI", "arm", "machine not known",
        "usb", "no such model", "no model",
    ],
)  # fmt: skip
def test_where_it_sits_decides(given: Nic, domain: DomainConfig, expected: str | None) -> None:
    assert pci_id(given, domain) == expected


def test_the_default_model_counts_where_none_is_written() -> None:
    model = Resolved(None, "rtl8139", "libvirt's default")
    nothing: Resolved[int] = Resolved(None, None, "")
    effective = Effective(model, Resolved(None, None, ""), nothing, nothing, nothing)
    given = msgspec.structs.replace(pci(None), effective=effective)
    assert pci_id(given, PC) == "10ec:8139"


@pytest.mark.parametrize(
    ("given", "domain", "expected"),
    [
        (pci("virtio", "0000:01:00.0"), Q35, True),
        (pci("virtio", "0000:01:00.0"), KNOWN, False),
        (pci("virtio", "0000:00:01.0"), Q35, False),
        (pci("virtio-transitional", "0000:01:00.0"), Q35, False),
        (pci("virtio", "0000:01:00.0"), VIRT, False),
        (pci("e1000e", "0000:01:00.0"), Q35, False),
    ],
)
def test_when_only_the_kind_of_bus_is_missing(
    given: Nic, domain: DomainConfig, expected: bool
) -> None:
    assert port_unknown(given, domain) is expected
