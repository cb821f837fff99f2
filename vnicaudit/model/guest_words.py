"""Vocabulary for guests: architectures, and readiness for virtio."""

from __future__ import annotations

from typing import Literal

Readiness = Literal[
    "ready", "likely-ready", "ready-transitional", "needs-driver", "unknown", "not-supported"
]
"""Does this guest support virtio? ``likely-ready``: it has a virtio disk, but nothing rules out
that the system is Windows. See :mod:`vnicaudit.knowledge.readiness`."""

# by the names that libvirt uses (virArch)
S390 = frozenset({"s390x", "s390"})
X86 = frozenset({"x86_64", "i686"})
PPC64 = frozenset({"ppc64", "ppc64le"})
ARM = frozenset({"armv6l", "armv7l", "armv7b", "aarch64"})
RISCV = frozenset({"riscv32", "riscv64"})
WINDOWS_RUNS_ON = X86 | {"aarch64", "armv7l"}
"""Those of libvirt's architectures on which Windows runs."""
