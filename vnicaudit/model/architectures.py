"""Architectures of guests, by the names libvirt gives them (``virArch``)."""

from __future__ import annotations

S390 = frozenset({"s390x", "s390"})
X86 = frozenset({"x86_64", "i686"})
PPC64 = frozenset({"ppc64", "ppc64le"})
ARM = frozenset({"armv6l", "armv7l", "armv7b", "aarch64"})
RISCV = frozenset({"riscv32", "riscv64"})
WINDOWS_RUNS_ON = X86 | {"aarch64", "armv7l"}
"""Of the architectures libvirt has guests of."""
