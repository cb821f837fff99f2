"""The address of a NIC as its guest sees it."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.knowledge.machines import is_q35
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.nic import Nic

_PCI = re.compile(
    r"(?P<domain>[0-9a-f]{4,8}):(?P<bus>[0-9a-f]{2}):(?P<slot>[0-9a-f]{2})\.(?P<function>[0-7])"
)
_CCW = re.compile(r"fe\.([0-3]\.[0-9a-f]{4})")
"""The channel subsystem of virtual devices is 0xfe."""


class PciSlot(NamedTuple):
    """A PCI address in a definition. The guest may number the bus differently: see
    :attr:`on_root_bus`."""

    domain: int
    bus: int
    slot: int
    function: int

    @property
    def on_root_bus(self) -> bool:
        """True if the guest sees exactly this address. The buses behind bridges and ports are
        numbered by the guest's firmware (libvirt, docs/pci-addresses.rst)."""
        return self.domain == 0 and self.bus == 0


def pci_slot(nic: Nic) -> PciSlot | None:
    """The NIC's PCI address; None if it has none or it is unknown."""
    found = _PCI.fullmatch(nic.address or "")
    return None if found is None else PciSlot(*(int(text, 16) for text in found.groups()))


def ccw_number(nic: Nic) -> str | None:
    """The device number of a NIC on a channel subsystem, as the guest has it: ``fe.0.0001`` is
    ``0.0.0001`` there (measured with QEMU 7.2 and Linux 6.12); None if it has none."""
    found = _CCW.fullmatch(nic.address or "")
    return None if found is None else f"0.{found[1]}"


def slot_of(nic: Nic) -> str | None:
    """Address of a NIC's PCI slot, or its ccw device number; None if neither is known."""
    return nic.address if pci_slot(nic) is not None else ccw_number(nic)


def same_place(before: Nic, after: Nic) -> bool:
    """True if a NIC is known to stay at its address."""
    return before.address is not None and before.address == after.address


def is_i440fx(domain: DomainConfig) -> bool:
    """True for x86 with conventional PCI only: ``pc``, ``pc-i440fx-7.2``, ``pc-1.3`` and
    ``rhel6.6.0`` of Red Hat's old builds (hw/i386/pc_piix.c)."""
    machine = domain.machine or ""
    return machine == "pc" or (machine.startswith(("pc-", "rhel6.")) and not is_q35(domain))
