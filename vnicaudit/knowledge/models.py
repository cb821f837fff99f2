"""NIC models: their names in libvirt and QEMU, and their abilities.

Sources: libvirt 11.3 ``virDomainNetModel``; ``qemu-system-* -device help`` of QEMU 7.2 and 10.0.
"""

from __future__ import annotations

import re

from vnicaudit.model.guest_words import VIRTIO

LEGACY = (
    frozenset({"rtl8139", "ne2k_pci", "ne2k_isa", "pcnet", "tulip"})
    | {
        f"i8255{digit}"
        for digit in ("0", "1", "7a", "7b", "7c", "8a", "8b", "9a", "9b", "9c", "9er")
    }
    | {"i82562", "i82801"}
)
"""Chips of the 10/100 Mb/s era: no vnet header, at least one exit to QEMU per packet."""

E1000 = frozenset({"e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em"})
E1000E = frozenset({"e1000e", "igb"})
BOARD = frozenset({"usb-net", "lan9118", "smc91c111", "spapr-vlan", "scm91c111"})
"""NICs of particular boards or buses."""

BOOT_ROMS = {
    **dict.fromkeys(VIRTIO, "efi-virtio.rom"), **dict.fromkeys(E1000, "efi-e1000.rom"),
    **{name: f"efi-{name}.rom" for name in ("e1000e", "ne2k_pci", "pcnet", "rtl8139", "vmxnet3")},
    **{name: "pxe-eepro100.rom" for name in LEGACY if name.startswith("i82")},
}  # fmt: skip
"""Model -> the boot ROM that QEMU has for it (``romfile`` of each device)."""

QEMU_MODELS = VIRTIO | LEGACY | E1000 | E1000E | BOARD | {
    "vmxnet3", "rocker", "sunhme", "sungem", "xen-net-device", "ftgmac100", "xgmac", "dp8393x",
    "virtio-net-pci", "virtio-net-ccw", "virtio-net-device", "virtio-net",
    "virtio-net-pci-transitional", "virtio-net-pci-non-transitional", "vfio-pci",
}  # fmt: skip
"""Names that some QEMU accepts as a NIC's ``-device`` driver (including libvirt's virtio names)."""

LIBVIRT_MODELS = frozenset({
    "netfront", "rtl8139", "virtio", "e1000", "e1000e", "igb", "virtio-transitional",
    "virtio-non-transitional", "usb-net", "spapr-vlan", "lan9118", "scm91c111", "vlance",
    "vmxnet", "vmxnet2", "vmxnet3", "am79c970a", "am79c973", "82540em", "82545em", "82543gc",
})  # fmt: skip
"""libvirt's enumeration, lower case: these names are matched case-insensitively; any other text is
passed to QEMU as it is."""

_FROM_DRIVER = {
    "virtio-net-pci": "virtio",
    "virtio-net-ccw": "virtio",
    "virtio-net-device": "virtio",
    "virtio-net": "virtio",
    "virtio-net-pci-transitional": "virtio-transitional",
    "virtio-net-pci-non-transitional": "virtio-non-transitional",
    "virtio-net-transitional": "virtio-transitional",
    "virtio-net-non-transitional": "virtio-non-transitional",
    "e1000-82540em": "e1000",
    "smc91c111": "smc91c111",
}


_ANY_CASE = frozenset(name.lower() for name in QEMU_MODELS | LIBVIRT_MODELS)
_STAND_IN = re.compile(
    r"X{3,}|CHANGE_?ME|REPLACE_?ME|FILL_?ME(?:_?IN)?|TODO|FIXME|TBD|PLACEHOLDER|YOUR_[A-Z0-9_]+"
    r"|[A-Z0-9_]*(?:MODEL|DRIVER|NIC|IFTYPE|NETTYPE)[A-Z0-9_]*"
)
_LONGEST = 60


def model_of_driver(driver: str) -> str:
    """libvirt's model name for a QEMU device: ``virtio-net-ccw`` -> ``virtio``."""
    return _FROM_DRIVER.get(driver, driver)


def normal_model(text: str) -> str:
    """The model libvirt stores for ``<model type=…>``: its own names in lower case, others as
    written. ``VirtIO`` -> ``virtio``, ``NotANic`` -> ``NotANic``."""
    lower = text.lower()
    return lower if lower in LIBVIRT_MODELS else text


def is_model(text: str) -> bool:
    """True for the name of a model of libvirt or QEMU, in upper or lower case."""
    return text.lower() in _ANY_CASE


def stands_for_model(text: str) -> bool:
    """True for a word that is obviously a placeholder for a model: ``NIC_MODEL``, ``XXXXXXX``,
    ``CHANGEME``."""
    text = text.strip()
    return len(text) <= _LONGEST and not is_model(text) and _STAND_IN.fullmatch(text) is not None


def shown_model(model: str) -> str:
    """A model for a message: names of QEMU and libvirt as they are; any other text comes from
    outside, and is quoted and cut to 40 characters."""
    known = model in QEMU_MODELS or model.lower() in LIBVIRT_MODELS
    return model if known else repr(model[:40])
