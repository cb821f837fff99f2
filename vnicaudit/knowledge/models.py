"""NIC models: their names in libvirt and QEMU, and their abilities.

Sources: libvirt 11.3 ``virDomainNetModel``; ``qemu-system-* -device help`` of QEMU 7.2 and 10.0.
"""

from __future__ import annotations

import re

from vnicaudit.knowledge.machines import is_virt
from vnicaudit.model.guest_words import ARM, RISCV, S390, VIRTIO

# The model that libvirt gives a NIC that declares none.
#
# Source: libvirt 11.3 ``qemuDomainDefaultNetModel`` (src/qemu/qemu_postparse.c) and
# ``preferredMachines`` (src/qemu/qemu_capabilities.c). Measured with libvirt 9.0: ``pc`` and
# ``q35`` both get rtl8139.

_VIRT_BY_DEFAULT = RISCV | {"armv7l", "armv7b", "aarch64", "loongarch64"}
"""Architectures whose default machine is ``virt``."""


def default_model(arch: str, machine: str | None) -> str:
    """The default NIC model of an architecture and machine type.

    On x86 and ppc64 the real answer is the first of rtl8139, e1000, virtio that the QEMU binary
    has; upstream, Debian and Ubuntu builds have rtl8139.
    """
    machine = machine or ("virt" if arch in _VIRT_BY_DEFAULT else "")
    if arch in S390 or (is_virt(machine) and (arch in RISCV or arch == "loongarch64")):
        return "virtio"
    return _on_arm(arch, machine) if arch in ARM else "rtl8139"


def _on_arm(arch: str, machine: str) -> str:
    if machine == "versatilepb":
        return "scm91c111"  # libvirt's spelling of the SMC chip, passed to QEMU as it is
    # libvirt does not count armv7b among the architectures of ``virt`` (qemuDomainMachineIsARMVirt)
    return "virtio" if is_virt(machine) and arch != "armv7b" else "lan9118"


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
