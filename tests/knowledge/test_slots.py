"""Where a NIC sits."""

import msgspec

from tests.remedy.planning.guests import PC, ccw, pci
from tests.rows import rows, rows_of_tuples
from vnicaudit.knowledge.systems import (
    PciSlot,
    ccw_number,
    is_i440fx,
    pci_slot,
    same_place,
    slot_of,
)


@rows_of_tuples
def test_a_pci_address(address: str | None, expected: PciSlot | None) -> None:
    given = msgspec.structs.replace(pci("virtio"), address=address)
    assert pci_slot(given) == expected


@rows
def test_the_guest_has_the_virtual_channel_subsystem_as_its_first(
    address: str, expected: str | None
) -> None:
    assert ccw_number(ccw("virtio", address)) == expected


def test_what_is_written_down() -> None:
    assert slot_of(pci("virtio", "0000:02:01.0")) == "0000:02:01.0"
    assert slot_of(ccw("virtio", "fe.0.0002")) == "0.0.0002"
    assert slot_of(pci("virtio", None)) is None
    assert slot_of(msgspec.structs.replace(pci("virtio"), address="\x1b[2J")) is None


def test_only_the_root_bus_has_the_number_that_the_guest_sees() -> None:
    assert PciSlot(0, 0, 3, 0).on_root_bus
    assert not PciSlot(0, 1, 3, 0).on_root_bus
    assert not PciSlot(1, 0, 3, 0).on_root_bus


def test_staying_has_to_be_known() -> None:
    assert same_place(pci("e1000"), pci("virtio"))
    assert not same_place(pci("e1000"), pci("virtio", "0000:00:04.0"))
    assert not same_place(pci("e1000", None), pci("virtio", None))


@rows
def test_machines_with_conventional_pci_only(machine: str | None, expected: bool) -> None:
    assert is_i440fx(msgspec.structs.replace(PC, machine=machine)) is expected
