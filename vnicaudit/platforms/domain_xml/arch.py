"""The architecture of a definition that names none.

libvirt uses the host's (``virDomainDefParseCaps``), and then refuses the definition if its emulator
is for another architecture, or has no such machine (``qemuValidateDomainDef``; 9.0 and 11.3, read).
So if the definition can be used at all, the emulator's name or the machine tells.
"""

from __future__ import annotations

import re

_EMULATOR = re.compile(r"\.?qemu-system-([a-z0-9_]+)(?:[-.].*)?", re.DOTALL)
_TARGETS = {"i386": "i686", "arm": "armv7l"} | {
    name: name
    for name in (
        "x86_64", "aarch64", "ppc64", "ppc64le", "s390x", "riscv32", "riscv64", "loongarch64",
    )
}  # fmt: skip
"""The end of QEMU's name -> libvirt's name of the architecture. A 64-bit binary also runs 32-bit
guests, on a 32-bit host; their NICs are the same. ``qemu-kvm`` and ``kvm`` exist on every
architecture."""

_MACHINES = (
    (re.compile(r"(?:pc|q35)(?:-.*)?|isapc|microvm", re.DOTALL), "x86_64"),
    (re.compile(r"s390-ccw-virtio(?:-.*)?", re.DOTALL), "s390x"),
    (re.compile(r"pseries(?:-.*)?", re.DOTALL), "ppc64"),
)
"""Machine types that only one architecture has."""

_SAME_MACHINES = {"i686": "x86_64", "ppc64le": "ppc64"}


def arch_of(emulator: str | None, machine: str | None) -> str | None:
    """The guest's architecture in libvirt's terms, by the emulator's path and the machine type;
    None if neither names one or the two contradict each other."""
    match = _EMULATOR.fullmatch((emulator or "").rpartition("/")[2])
    by_name = None if match is None else _TARGETS.get(match[1])
    machine = machine or ""
    by_machine = next((arch for kind, arch in _MACHINES if kind.fullmatch(machine)), None)
    if by_name is None or by_machine is None:
        return by_name or by_machine
    return by_name if _SAME_MACHINES.get(by_name, by_name) == by_machine else None
