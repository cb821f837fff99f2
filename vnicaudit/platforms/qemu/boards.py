"""The NIC that QEMU itself adds if no argument configures networking.

This is not libvirt's default model: libvirt always passes ``-nodefaults``.

Measured by ``info network`` on every machine type of QEMU 7.2.22 that starts without a guest's
firmware, x86 and s390x also with 10.0.2: pc e1000, q35 e1000e (e1000 up to pc-q35-2.11), isapc
ne2k_isa, pseries spapr-vlan, microvm and none nothing, and so on; ``-netdev``, ``-nic`` and
``-net`` each switch it off, a NIC from ``-device`` does not. Boards whose NIC is part of the chip
(most of ARM's) always have it, and are not listed here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.model.guest_words import ARM, PPC64, RISCV, S390, X86

_DEFAULT = {
    **dict.fromkeys(X86, "pc"),
    **dict.fromkeys(S390, "s390-ccw-virtio"),
    **dict.fromkeys(PPC64, "pseries"),
    "sparc64": "sun4u",
    "ppc": "g3beige",
    **dict.fromkeys(RISCV, "spike"),
    **dict.fromkeys(("mips", "mipsel", "mips64", "mips64el"), "malta"),
}
"""The default machine of an architecture; ARM has none."""
_MIPS = frozenset({"mips", "mipsel", "mips64", "mips64el"})
_POWER = PPC64 | {"ppc"}


class _Board(NamedTuple):
    archs: frozenset[str]
    machine: re.Pattern[str]
    nic: str | None


def _board(archs: frozenset[str], machine: str, nic: str | None) -> _Board:
    return _Board(archs, re.compile(machine), nic)


_BOARDS = (
    _board(X86, r"pc|pc-i440fx-.*|pc-[01]\..*|pc-q35-(1\.\d+|2\.(\d|10|11))(\D.*)?", "e1000"),
    _board(X86, r"q35|pc-q35-.*", "e1000e"),
    _board(X86, r"isapc", "ne2k_isa"),
    _board(X86, r"microvm|x-remote", None),
    _board(S390, r"s390-ccw.*", "virtio-net-ccw"),
    _board(ARM, r"virt(-\d.*)?", "virtio-net-pci"),
    _board(ARM, r"sbsa-ref", "e1000e"),
    _board(ARM, r"integratorcp|realview-eb(-mpcore)?|versatile[ap]b", "smc91c111"),
    _board(ARM, r"kzm|realview-pb-a8|realview-pbx-a9|smdkc210|vexpress-a(9|15)", "lan9118"),
    _board(ARM, r"akita|borzoi|spitz|terrier|tosa|collie|z2", None),
    _board(PPC64, r"pseries(-.*)?", "spapr-vlan"),
    _board(PPC64, r"powernv\d*", None),
    _board(_POWER, r"mac99", "sungem"),
    _board(_POWER, r"g3beige", "ne2k_pci"),
    _board(_POWER, r"40p", "pcnet"),
    _board(_POWER, r"bamboo", "e1000"),
    _board(frozenset({"sparc64"}), r"sun4[uv]", "sunhme"),
    _board(_MIPS, r"malta", "pcnet"),
    _board(_MIPS, r"fuloong2e", "rtl8139"),
    _board(_MIPS, r"loongson3-virt", "virtio-net-pci"),
    _board(frozenset({"loongarch64"}), r"virt", "virtio-net-pci"),
    _board(frozenset({"alpha"}), r"clipper", "e1000"),
    _board(frozenset({"sh4", "sh4eb"}), r"r2d", "rtl8139"),
    _board(RISCV, r"virt|spike", None),
)


class DefaultNic(NamedTuple):
    """``device`` is None if the machine adds none, or if it is not ``known``."""

    device: str | None
    known: bool = True


def machine_default(arch: str | None, machine: str | None) -> DefaultNic:
    """QEMU's device name of the NIC that a machine adds by itself."""
    machine = machine or _DEFAULT.get(arch or "")
    if machine == "none":
        return DefaultNic(None)
    for board in _BOARDS:
        if machine is not None and arch in board.archs and board.machine.fullmatch(machine):
            return DefaultNic(board.nic)
    return DefaultNic(None, known=False)


def default_nic(arch: str | None, machine: str | None) -> str | None:
    """QEMU's device name of the default NIC of a machine; None if there is none, or if it is
    unknown (other boards)."""
    return machine_default(arch, machine).device


def device_name(model: str, arch: str | None) -> str:
    """QEMU's device name for the ``model=`` of ``-net nic`` and ``-nic``, which accept ``virtio``
    for the machine's own virtio device (``qemu_find_nic_model``)."""
    if model in ("virtio", "virtio-net"):
        return "virtio-net-ccw" if arch in S390 else "virtio-net-pci"
    return model
