"""The running kernel's release and the machine's architecture.

``root`` may be a mount of the host's root; the kernel is the same one either way.
"""

from __future__ import annotations

import os

from vnicaudit.platforms.host.tree import Tree

_I686 = frozenset({"i386", "i486", "i586"})


def read_release(tree: Tree) -> str:
    """``uname -r``: names the folder of the kernel's modules."""
    text = (tree.text("/proc/sys/kernel/osrelease") or "").strip()
    return text or os.uname().release


def read_arch(tree: Tree) -> str:
    """``uname -m`` in libvirt's words. /proc/sys/kernel/arch exists since Linux 6.1."""
    text = (tree.text("/proc/sys/kernel/arch") or "").strip()
    return libvirt_arch(text or os.uname().machine)


def libvirt_arch(machine: str) -> str:
    """libvirt 11.3 virArchFromHost: every 32-bit x86 is i686; others are named as the kernel
    names them."""
    return "i686" if machine in _I686 else machine
