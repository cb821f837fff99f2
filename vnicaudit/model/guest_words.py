"""Vocabulary for guests: how they and their NICs are described, architectures, and readiness for
virtio."""

from __future__ import annotations

from typing import Final, Literal

Readiness = Literal[
    "ready", "likely-ready", "ready-transitional", "needs-driver", "unknown", "not-supported"
]
"""Does this guest support virtio? ``likely-ready``: it has a virtio disk, but nothing rules out
that the system is Windows. See :mod:`vnicaudit.knowledge.readiness`."""

DefinitionForm = Literal["raw", "dump", "live", "qemu", "terraform"]
"""The form of a definition: ``raw`` (written by hand or a tool, defaults not filled in), ``dump``
(written by libvirt: what it dropped is gone), ``live`` (the running definition), ``qemu`` (a
command line) or ``terraform`` (a ``libvirt_domain``, which its provider hands to libvirt one to
one: as ``raw``, but not XML)."""

DescriptionKind = Literal["definition", "manifest", "server"]
"""How a domain is described: by a ``definition`` of libvirt or QEMU, or by the source of a future
one: a ``manifest`` (KubeVirt), or Nova's record of a ``server`` (OpenStack)."""

Form = DefinitionForm | Literal["manifest", "server"]
"""The kind of description, with the form of a definition, which decides the title of its layer."""

DESCRIPTORS: Final = "open descriptors"
LOG: Final = "log"
"""Evidence from the log of a start, which may belong to a running process or may have failed."""

MAYBE = "?"
"""In :attr:`vnicaudit.model.nic.NicConfig.behind`: the alias that the NIC will have is unknown."""

VIRTIO = frozenset({"virtio", "virtio-transitional", "virtio-non-transitional"})
"""``virDomainNetIsVirtioModel``: only these have vhost, queues and rings."""

# by the names that libvirt uses (virArch)
S390 = frozenset({"s390x", "s390"})
X86 = frozenset({"x86_64", "i686"})
PPC64 = frozenset({"ppc64", "ppc64le"})
ARM = frozenset({"armv6l", "armv7l", "armv7b", "aarch64"})
RISCV = frozenset({"riscv32", "riscv64"})
WINDOWS_RUNS_ON = X86 | {"aarch64", "armv7l"}
"""Those of libvirt's architectures on which Windows runs."""
