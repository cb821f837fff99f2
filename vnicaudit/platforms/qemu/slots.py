"""The ``addr=`` of a device on PCI (``set_pci_devfn`` in hw/core/qdev-properties-system.c)."""

from __future__ import annotations

import re

from vnicaudit.platforms.qemu.options import Options

_SLOT = re.compile(
    r"(?:0[xX])?(?P<slot>[0-9a-fA-F]{1,8})(?:\.(?:0[xX])?(?P<function>[0-9a-fA-F]{1,8}))?"
)
_SLOTS, _FUNCTIONS = 32, 8
_TAKEN = {
    "pci.0": frozenset({(0, 0), (1, 0), (1, 1)}),
    "pcie.0": frozenset({(0, 0), (31, 0)}),
}
"""Slots that the machine itself always uses on the root bus of pc and q35. Measured with QEMU
7.2."""
_OF_VGA = {"pci.0": (2, 0), "pcie.0": (1, 0)}
"""The slot of the graphics card that QEMU adds unless ``-nodefaults`` or ``-vga`` is given."""


def place_of(text: str) -> tuple[int, int] | None:
    """Slot and function; None if it is not an address."""
    match = _SLOT.fullmatch(text)
    if match is None:
        return None
    slot, function = int(match["slot"], 16), int(match["function"] or "0", 16)
    return (slot, function) if slot < _SLOTS and function < _FUNCTIONS else None


def slot_of(given: Options, root: str | None) -> list[tuple[str, str]]:
    """The slot of a device, under a name that is the same for the same slot. ``root``: the
    machine's own bus, which is the default; on q35 ``pci.0`` belongs to a bridge."""
    place = place_of(given.get("addr", ""))
    if place is None:
        return []
    bus = given.get("bus", "")
    named = "" if bus in ("", root) else f"{bus} "
    return [("PCI slot", f"{named}{place[0]:x}.{place[1]}")]


def is_taken(text: str, bus: str, root: str | None, *, vga: bool) -> bool:
    """True if the machine, whose root bus is called ``root``, has its own device at that address.
    ``vga``: it has its default graphics card."""
    if root is None or bus not in ("", root):
        return False
    place = place_of(text)
    return place in _TAKEN.get(root, ()) or (vga and place == _OF_VGA.get(root, ()))
